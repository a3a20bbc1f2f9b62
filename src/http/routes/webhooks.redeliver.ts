import { defineRoute } from './route.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';
import { BOUND_IS_ENOUGH, EventId, READING_RIGHT, WebhookId } from '../shapes/webhookObject.ts';

export const redeliver = defineRoute({
  path: '/v1/webhooks.redeliver',
  method: 'POST',
  summary: 'Send an event to a webhook again, or for the first time if it never got it.',
  description: `It is sent in the background, with the same id and body. The event must still be kept. If the webhook is bound to other apis than that of the event, the answer is NOT_FOUND. ${BOUND_IS_ENOUGH}`,
  rights: ['webhook.<webhookId>.update_webhook', READING_RIGHT],
  request: strict({ webhookId: WebhookId, eventId: EventId }),
  response: Empty,
  example: { request: { webhookId: EXAMPLE.webhookId, eventId: EXAMPLE.eventId }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { webhookId, eventId }) {
    await engine.webhookDeliveries.redeliver(actor, webhookId, eventId);
    return {};
  },
});
