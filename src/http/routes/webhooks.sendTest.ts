import { defineRoute } from './route.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { strict } from '../../model/schema/schemas.ts';
import { EventId, WebhookId } from '../shapes/webhookObject.ts';

export const sendTest = defineRoute({
  path: '/v1/webhooks.sendTest',
  method: 'POST',
  summary: 'Send an event of the type `webhook.test` to a webhook.',
  description: 'It is sent in the background like any other. `webhooks.listDeliveries` shows what became of it.',
  rights: ['webhook.<webhookId>.update_webhook'],
  command: { name: 'webhook test' },
  request: strict({ webhookId: WebhookId }),
  response: strict({ eventId: EventId }),
  example: { request: { webhookId: EXAMPLE.webhookId }, response: { eventId: EXAMPLE.eventId } },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { webhookId }) {
    return { eventId: await engine.webhookDeliveries.sendTest(actor, webhookId) };
  },
});
