import { defineRoute } from './route.ts';
import { optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { Empty, Flag, strict } from '../../model/schema/schemas.ts';
import {
  BOUND_IS_ENOUGH,
  BoundApis,
  READING_RIGHT,
  TargetUrl,
  WantedEvents,
  WebhookId,
} from '../shapes/webhookObject.ts';

export const updateWebhook = defineRoute({
  path: '/v1/webhooks.updateWebhook',
  method: 'POST',
  summary: 'Change a webhook, or enable one that is paused.',
  description: `A field that is left out stays as it is. \`events: null\` sends all types of events. A new \`url\` ends a pause, and waiting events are sent to it. Events of apis that the webhook is no longer bound to are not sent, even if they wait already. \`enabled: false\` needs no right on events. ${BOUND_IS_ENOUGH}`,
  rights: ['webhook.<webhookId>.update_webhook'],
  fieldRights: [
    { fields: ['url', 'events', 'enabled'], rights: [READING_RIGHT] },
    { fields: ['apis'], rights: ['event.<apiId>.read_event'] },
  ],
  request: strict({
    webhookId: WebhookId,
    url: optional(TargetUrl),
    events: WantedEvents,
    apis: BoundApis,
    enabled: optional(
      Flag,
      'false: nothing is sent, and events are kept. true: the kept events are sent, and a pause ends.',
      true,
    ),
  }),
  response: Empty,
  example: { request: { webhookId: EXAMPLE.webhookId, enabled: true }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { webhookId, url, events, apis, enabled }) {
    await engine.webhooks.update(actor, webhookId, {
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { types: events }),
      ...(apis === undefined ? {} : { apiIds: apis }),
      ...(enabled === undefined ? {} : { enabled }),
    });
    return {};
  },
});
