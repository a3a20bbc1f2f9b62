import { Type } from 'typebox';

import { MAX_OVERLAP_MS } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { strict } from '../../model/schema/schemas.ts';
import { BOUND_IS_ENOUGH, READING_RIGHT, SigningSecret, WebhookId } from '../shapes/webhookObject.ts';

const DEFAULT_OVERLAP_MS = 86_400_000;

export const rotateSecret = defineRoute({
  path: '/v1/webhooks.rotateSecret',
  method: 'POST',
  summary: 'Give a webhook a new signing secret.',
  description: `Both secrets sign for \`overlapMs\`, so that the target has time to change to the new one. The new secret is shown only in this answer. ${BOUND_IS_ENOUGH}`,
  rights: ['webhook.<webhookId>.update_webhook', READING_RIGHT],
  command: { asksFirst: 'withoutOverlap', shownOnce: 'secret' },
  request: strict({
    webhookId: WebhookId,
    overlapMs: optional(
      Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_MS }),
      'How long the old secret still signs too, in milliseconds, from 0 to 30 days. 24 hours when absent.',
      DEFAULT_OVERLAP_MS,
    ),
  }),
  response: strict({ secret: SigningSecret }),
  example: {
    request: { webhookId: EXAMPLE.webhookId, overlapMs: DEFAULT_OVERLAP_MS },
    response: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { webhookId, overlapMs = DEFAULT_OVERLAP_MS }) {
    return { secret: await engine.webhooks.rotateSecret(actor, webhookId, overlapMs) };
  },
});
