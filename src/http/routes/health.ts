import { Type } from 'typebox';

import type { Engine } from '../../engine/engine.ts';
import { type AnswerContext, jsonAnswer } from '../answer/answer.ts';
import { field } from '../shapes/schema/described.ts';
import { Flag, strict, Text } from '../shapes/schema/schemas.ts';

const Reasons = Type.Array(Text);
const ServiceState = field(Text, 'Always `on`. Older programs read it.', 'on');

/** Why this node cannot answer verifications; empty = it can. */
export function reasonsNotReady({ verifier, storage }: Engine): readonly string[] {
  const { damage, ledger } = storage;
  const damaged = damage?.ofCountsOnly === false ? damage.text : null;
  return [verifier.stoppedBecause, ledger.commitFailure, damaged].filter((reason) => reason !== null);
}

/** Answers while the process runs. Existing clients read these names of services. */
export const liveness = {
  path: '/v1/liveness',
  summary: 'Answer as long as the process runs.',
  response: strict({
    status: field(Text, 'Always `ok`: a process that does not run does not answer.', 'ok'),
    services: field(
      strict({ metrics: ServiceState, logger: ServiceState, ratelimit: ServiceState, usagelimit: ServiceState }),
      'The parts of the service, under the names that older programs read.',
      { metrics: 'on', logger: 'on', ratelimit: 'on', usagelimit: 'on' },
    ),
  }),
  handle: () => ({
    status: 'ok',
    services: { metrics: 'on', logger: 'on', ratelimit: 'on', usagelimit: 'on' },
  }),
} as const;

/** Tells load balancers whether this node can answer verifications. */
export const readiness = {
  path: '/v1/readiness',
  summary: 'Tell whether the service can answer requests.',
  description: 'If it cannot, the status is 503 and `reasons` says why.',
  response: strict({
    ready: field(Flag, 'true: this node can answer verifications.', true),
    reasons: field(Reasons, 'Why the node is not ready. `[]` when it is.', ['The database has failed.']),
    warnings: field(
      Reasons,
      'What an operator should look at, although the node answers. `[]` when there is nothing.',
      [],
    ),
  }),
  handle(engine: Engine, context: AnswerContext): Response {
    const reasons = reasonsNotReady(engine);
    const ready = reasons.length === 0;
    return jsonAnswer({ ready, reasons, warnings: engine.storage.warnings }, context, ready ? 200 : 503);
  },
} as const;
