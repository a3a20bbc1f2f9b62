import { defineRoute } from './route.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { strict } from '../../model/schema/schemas.ts';
import {
  BoundApis,
  READING_RIGHT,
  SigningSecret,
  TargetUrl,
  WantedEvents,
  WebhookId,
} from '../shapes/webhookObject.ts';

export const createWebhook = defineRoute({
  path: '/v1/webhooks.createWebhook',
  method: 'POST',
  summary: 'Create a webhook: events are sent to a URL of yours from now on.',
  description:
    'Each event is sent at least once, signed as the Standard Webhooks specification says. The secret is shown only in this answer.',
  rights: ['webhook.*.create_webhook', READING_RIGHT],
  insteadRights: [{ fields: ['apis'], rights: ['webhook.*.create_webhook', 'event.<apiId>.read_event'] }],
  command: { shownOnce: 'secret' },
  request: strict({ url: TargetUrl, events: WantedEvents, apis: BoundApis }),
  response: strict({ webhookId: WebhookId, secret: SigningSecret }),
  example: {
    request: { url: EXAMPLE.webhookUrl, events: ['key.created', 'key.deleted'] },
    response: { webhookId: EXAMPLE.webhookId, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { url, events = null, apis = null }) {
    return engine.webhooks.create(actor, { url, types: events, apiIds: apis });
  },
});
