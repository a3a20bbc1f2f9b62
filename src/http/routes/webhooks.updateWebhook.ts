import { defineRoute } from './route.ts';
import { optional } from '../shapes/schema/described.ts';
import { EXAMPLE } from '../shapes/schema/examples.ts';
import { Empty, Flag, strict } from '../shapes/schema/schemas.ts';
import { TargetUrl, WantedEvents, WebhookId } from '../shapes/webhookObject.ts';

export const updateWebhook = defineRoute({
  path: '/v1/webhooks.updateWebhook',
  method: 'POST',
  summary: 'Change a webhook, or enable one that is paused.',
  description:
    'A field that is left out stays as it is. `events: null` sends all events. Another `url` ends a pause, and what waits is sent to it.',
  rights: ['webhook.<webhookId>.update_webhook'],
  fieldRights: [{ fields: ['url'], rights: ['event.*.read_event'] }],
  request: strict({
    webhookId: WebhookId,
    url: optional(TargetUrl),
    events: WantedEvents,
    enabled: optional(
      Flag,
      'false: nothing is sent, and what happens is kept. true: all that was kept is sent, and a pause ends.',
      true,
    ),
  }),
  response: Empty,
  example: { request: { webhookId: EXAMPLE.webhookId, enabled: true }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { webhookId, url, events, enabled }) {
    await engine.webhooks.update(actor, webhookId, {
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { types: events }),
      ...(enabled === undefined ? {} : { enabled }),
    });
    return {};
  },
});
