import { Transport } from '../sdk/src/transport.ts';
import type {
  ApisListApisAnswer,
  ApisListApisRequest,
  ApisListKeysAnswer,
  ApisListKeysRequest,
  AuditListEntriesAnswer,
  AuditListEntriesRequest,
  IdentitiesListIdentitiesAnswer,
  IdentitiesListIdentitiesRequest,
  PlansListPlansAnswer,
  PlansListPlansRequest,
  WebhooksListDeliveriesAnswer,
  WebhooksListDeliveriesRequest,
} from '../sdk/src/generated/api.ts';

/** The SDK reads lists to their end. A table reads one page at a time. */
const transport = new Transport({
  urls: [location.origin],
  rootKey: undefined,
  timeoutMs: 15_000,
  totalTimeoutMs: 20_000,
  retries: 1,
  fetch: (input, init) => fetch(input, init),
});

function paged<Request, Answer>(operation: string): (request: Request) => Promise<Answer> {
  return async (body) => (await transport.send({ path: `/v1/${operation}`, body, isRepeatable: true })).body as Answer;
}

export const listApis = paged<ApisListApisRequest, ApisListApisAnswer>('apis.listApis');
export const listKeys = paged<ApisListKeysRequest, ApisListKeysAnswer>('apis.listKeys');
export const listCustomers = paged<IdentitiesListIdentitiesRequest, IdentitiesListIdentitiesAnswer>(
  'identities.listIdentities',
);
export const listPlans = paged<PlansListPlansRequest, PlansListPlansAnswer>('plans.listPlans');
export const listEntries = paged<AuditListEntriesRequest, AuditListEntriesAnswer>('audit.listEntries');
export const listDeliveries = paged<WebhooksListDeliveriesRequest, WebhooksListDeliveriesAnswer>(
  'webhooks.listDeliveries',
);
