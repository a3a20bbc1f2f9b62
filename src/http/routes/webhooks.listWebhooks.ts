import { defineRoute } from './route.ts';
import { listOf } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { strict } from '../../model/schema/schemas.ts';
import { toWebhookObject, WebhookObject } from '../shapes/webhookObject.ts';

export const listWebhooks = defineRoute({
  path: '/v1/webhooks.listWebhooks',
  method: 'GET',
  summary: 'List the webhooks, at most 100.',
  rights: ['webhook.*.read_webhook'],
  command: {
    columns: ['id', 'enabled', 'pausedAt', 'events', 'apis', 'url'],
    absent: { events: 'all', apis: 'all' },
  },
  request: strict({}),
  response: strict({ webhooks: listOf(WebhookObject, 'The webhooks, the oldest first.') }),
  example: {
    request: {},
    response: {
      webhooks: [{ id: EXAMPLE.webhookId, url: EXAMPLE.webhookUrl, enabled: true, createdAt: EXAMPLE.midnight }],
    },
  },
  errors: [],
  async handle(engine, actor) {
    return { webhooks: (await engine.webhooks.list(actor)).map(toWebhookObject) };
  },
});
