import { Transport } from '../sdk/src/transport.ts';
import { TRANSPORT } from './client.ts';
import type {
  ApisListApisAnswer,
  ApisListApisRequest,
  ApisListKeysAnswer,
  ApisListKeysRequest,
  AuditListEntriesAnswer,
  AuditListEntriesRequest,
  EventsListEventsAnswer,
  EventsListEventsRequest,
  IdentitiesListIdentitiesAnswer,
  IdentitiesListIdentitiesRequest,
  PlansListPlansAnswer,
  PlansListPlansRequest,
  RatelimitsListOverridesAnswer,
  RatelimitsListOverridesRequest,
  UsageGetStatementAnswer,
  UsageGetStatementRequest,
  WebhooksListDeliveriesAnswer,
  WebhooksListDeliveriesRequest,
} from '../sdk/src/generated/api.ts';

/** The SDK reads lists to their end. A table reads one page at a time. */
const transport = new Transport({ urls: [location.origin], rootKey: undefined, ...TRANSPORT });

async function read(operation: string, body: object): Promise<unknown> {
  return (await transport.send({ path: `/v1/${operation}`, body, isRepeatable: true })).body;
}

export const listApis = async (request: ApisListApisRequest): Promise<ApisListApisAnswer> =>
  (await read('apis.listApis', request)) as ApisListApisAnswer;
export const listKeys = async (request: ApisListKeysRequest): Promise<ApisListKeysAnswer> =>
  (await read('apis.listKeys', request)) as ApisListKeysAnswer;
export const listCustomers = async (
  request: IdentitiesListIdentitiesRequest,
): Promise<IdentitiesListIdentitiesAnswer> =>
  (await read('identities.listIdentities', request)) as IdentitiesListIdentitiesAnswer;
export const listPlans = async (request: PlansListPlansRequest): Promise<PlansListPlansAnswer> =>
  (await read('plans.listPlans', request)) as PlansListPlansAnswer;
export const listEntries = async (request: AuditListEntriesRequest): Promise<AuditListEntriesAnswer> =>
  (await read('audit.listEntries', request)) as AuditListEntriesAnswer;
export const listOverrides = async (request: RatelimitsListOverridesRequest): Promise<RatelimitsListOverridesAnswer> =>
  (await read('ratelimits.listOverrides', request)) as RatelimitsListOverridesAnswer;
export const listStatement = async (request: UsageGetStatementRequest): Promise<UsageGetStatementAnswer> =>
  (await read('usage.getStatement', request)) as UsageGetStatementAnswer;
export const listDeliveries = async (request: WebhooksListDeliveriesRequest): Promise<WebhooksListDeliveriesAnswer> =>
  (await read('webhooks.listDeliveries', request)) as WebhooksListDeliveriesAnswer;
export const listEvents = async (request: EventsListEventsRequest): Promise<EventsListEventsAnswer> =>
  (await read('events.listEvents', request)) as EventsListEventsAnswer;
