import { defineRoute } from './route.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';
import { WebhookId } from '../shapes/webhookObject.ts';

export const deleteWebhook = defineRoute({
  path: '/v1/webhooks.deleteWebhook',
  method: 'POST',
  summary: 'Delete a webhook with its waiting deliveries and its log.',
  rights: ['webhook.<webhookId>.delete_webhook'],
  command: { asksFirst: 'always' },
  request: strict({ webhookId: WebhookId }),
  response: Empty,
  example: { request: { webhookId: EXAMPLE.webhookId }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { webhookId }) {
    await engine.webhooks.delete(actor, webhookId);
    return {};
  },
});
