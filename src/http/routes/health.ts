import { type Static, Type } from 'typebox';

import type { Service } from '../service.ts';
import { type AnswerContext, jsonAnswer } from '../answer/answer.ts';
import { field, optional } from '../../model/schema/described.ts';
import { Flag, strict, Text } from '../../model/schema/schemas.ts';

const Reasons = Type.Array(Text);
const ServiceState = field(Text, 'Always `on`. Older programs read it.', 'on');

const STOPPING = 'This node was told to stop.';

/** What a node must be able to answer: what it has in memory, or also what the ledger decides. */
type ReadyFor = 'memory' | 'exact';

/** Why this node cannot answer that; empty = it can. */
export function reasonsNotReady({ engine, lifetime }: Service, readyFor: ReadyFor): readonly string[] {
  const { verifier, storage } = engine;
  const failure = readyFor === 'exact' ? storage.ledger.commitFailure : storage.outage;
  const damaged = storage.damage?.ofCountsOnly === false ? storage.damage.text : null;
  const stopping = lifetime.isStopping ? STOPPING : null;
  return [stopping, verifier.stoppedBecause, failure, damaged].filter((reason) => reason !== null);
}

/** What an operator should look at. */
function warningsOf({ storage }: Service['engine'], readyFor: ReadyFor): readonly string[] {
  const { commitFailure } = storage.ledger;
  if (readyFor === 'exact' || commitFailure === null || storage.outage !== null) return storage.warnings;
  return [`Only what needs no database is answered: ${commitFailure}`, ...storage.warnings];
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

const ReadinessRequest = strict({
  for: optional(
    Type.Enum(['exact']),
    '`exact`: ready only if the node can also answer what needs the database: credits, strict limits, changes and keys that are not in memory.',
    'exact',
  ),
});

/** Tells load balancers whether this node can answer verifications. */
export const readiness = {
  path: '/v1/readiness',
  summary: 'Tell whether this node can answer verifications.',
  description:
    'If it cannot, the status is 503 and `reasons` says why. A node that can answer from memory is ready: it verifies keys that it knows, with local limits. If credits and whatever else needs the database would fail, `warnings` says so. A load balancer for exact traffic asks with `for=exact`.',
  request: ReadinessRequest,
  response: strict({
    ready: field(Flag, 'true: this node can answer what was asked for.', true),
    reasons: field(Reasons, 'Why the node is not ready. `[]` when it is.', ['The database has failed.']),
    warnings: field(
      Reasons,
      'What an operator should look at, although the node answers. `[]` when there is nothing.',
      [],
    ),
  }),
  handle(service: Service, asked: Static<typeof ReadinessRequest>, context: AnswerContext): Response {
    const readyFor = asked.for ?? 'memory';
    const reasons = reasonsNotReady(service, readyFor);
    const ready = reasons.length === 0;
    const body = { ready, reasons, warnings: warningsOf(service.engine, readyFor) };
    return jsonAnswer(body, context, ready ? 200 : 503);
  },
} as const;
