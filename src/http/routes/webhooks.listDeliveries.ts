import { MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { nextCursor, pageCursor, PageLimit, toSequence } from '../shapes/schema/commonFields.ts';
import { Id, strict } from '../../model/schema/schemas.ts';
import {
  DELIVERY_EXAMPLE,
  DeliveryObject,
  DeliveryStateName,
  toDeliveryObject,
  WebhookId,
} from '../shapes/webhookObject.ts';

export const listDeliveries = defineRoute({
  path: '/v1/webhooks.listDeliveries',
  method: 'GET',
  summary: 'List what was sent to a webhook and what waits, the newest event first.',
  description: 'The last 1000 finished deliveries of each webhook are kept.',
  rights: ['webhook.<webhookId>.read_webhook'],
  command: { name: 'webhook deliveries' },
  request: strict({
    webhookId: WebhookId,
    state: optional(DeliveryStateName, 'Only deliveries in this state.', 'waiting'),
    limit: PageLimit,
    cursor: pageCursor(Id, '1042'),
  }),
  response: strict({ deliveries: listOf(DeliveryObject, 'The deliveries of this page.'), cursor: nextCursor('1042') }),
  example: {
    request: { webhookId: EXAMPLE.webhookId, limit: 10 },
    response: { deliveries: [DELIVERY_EXAMPLE] },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { webhookId, state = null, limit = MAX_PAGE_SIZE, cursor }) {
    const before = cursor === undefined ? null : toSequence(cursor);
    const found = await engine.webhookDeliveries.list(actor, { webhookId, state, limit: limit + 1, before });
    const page = found.slice(0, limit);
    const next = found.length > limit ? { cursor: String(page.at(-1)?.sequence) } : {};
    const nowMs = engine.storage.ledger.nowMs();
    return { deliveries: page.map((delivery) => toDeliveryObject(delivery, nowMs)), ...next };
  },
});
