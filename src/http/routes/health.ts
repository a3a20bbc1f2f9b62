import { Type } from 'typebox';

import type { Engine } from '../../engine/engine.ts';
import { type AnswerContext, jsonAnswer } from '../answer/answer.ts';
import { strict } from '../shapes/schemas.ts';

const Text = Type.String();

/** Answers while the process runs. Existing clients read these names of services. */
export const liveness = {
  path: '/v1/liveness',
  summary: 'Answer as long as the process runs.',
  response: strict({
    status: Text,
    services: strict({ metrics: Text, logger: Text, ratelimit: Text, usagelimit: Text }),
  }),
  handle: () => ({
    status: 'ok',
    services: { metrics: 'on', logger: 'on', ratelimit: 'on', usagelimit: 'on' },
  }),
} as const;

/** Tells load balancers whether this node can answer verifications. */
export const readiness = {
  path: '/v1/readiness',
  summary: 'Tell whether the service can answer requests. If it cannot, the status is 503 and `reasons` says why.',
  response: strict({ ready: Type.Boolean(), reasons: Type.Array(Text), warnings: Type.Array(Text) }),
  handle(engine: Engine, context: AnswerContext): Response {
    const reasons = [engine.verifier.stoppedBecause, engine.storage.ledger.commitFailure].filter(
      (reason) => reason !== null,
    );
    const ready = reasons.length === 0;
    return jsonAnswer({ ready, reasons, warnings: engine.storage.warnings }, context, ready ? 200 : 503);
  },
} as const;
