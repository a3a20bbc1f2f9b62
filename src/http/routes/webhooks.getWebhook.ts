import { MAX_PENDING_DELIVERIES } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { component, field } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { strict, Whole } from '../../model/schema/schemas.ts';
import { toWebhookObject, WebhookId, WebhookObject } from '../shapes/webhookObject.ts';

const WebhookDetails = component(
  'WebhookDetails',
  strict({
    ...WebhookObject.properties,
    waiting: field(
      Whole,
      'How many deliveries wait, at most 1000. Further events are put in the queue when there is room.',
      0,
    ),
  }),
  'A webhook, with what waits for it.',
  { id: EXAMPLE.webhookId, url: EXAMPLE.webhookUrl, enabled: true, createdAt: EXAMPLE.midnight, waiting: 0 },
);

export const getWebhook = defineRoute({
  path: '/v1/webhooks.getWebhook',
  method: 'GET',
  summary: 'Read one webhook.',
  description: 'Its secret is not shown again.',
  rights: ['webhook.<webhookId>.read_webhook'],
  command: { absent: { events: 'all', apis: 'all' } },
  request: strict({ webhookId: WebhookId }),
  response: WebhookDetails,
  example: {
    request: { webhookId: EXAMPLE.webhookId },
    response: {
      id: EXAMPLE.webhookId,
      url: EXAMPLE.webhookUrl,
      enabled: true,
      createdAt: EXAMPLE.midnight,
      waiting: 0,
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { webhookId }) {
    const webhook = await engine.webhooks.get(actor, webhookId);
    const waiting = await engine.storage.webhooks.countWaiting(webhookId, MAX_PENDING_DELIVERIES);
    return { ...toWebhookObject(webhook), waiting };
  },
});
