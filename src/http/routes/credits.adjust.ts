import { Type } from 'typebox';

import { MAX_COUNT } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { CALL_ANSWER, CallIdempotencyKey, Reason } from '../shapes/counters/creditFields.ts';
import { field, optional } from '../../model/schema/described.ts';
import { HOLDER_REFERENCE, toHolderReference } from '../shapes/holders/identityObject.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { IDEMPOTENCY_WORDS, strict, Text } from '../../model/schema/schemas.ts';

export const adjustCredits = defineRoute({
  path: '/v1/credits.adjust',
  method: 'POST',
  summary: 'Correct the credits of a key or a customer: add some, or take some away.',
  description:
    'The balance never goes below 0. A call that would bring it above 9007199254740991 answers 412. Credits that expire first are taken first, as a verification takes them. `keys.updateRemaining` does the same for a key, without a reason.',
  rights: ['identity.<identityId>.adjust_credits'],
  insteadRights: [{ fields: ['keyId'], rights: ['api.<apiId>.adjust_credits'] }],
  request: strict({
    ...HOLDER_REFERENCE,
    by: field(
      Type.Integer({ minimum: -MAX_COUNT, maximum: MAX_COUNT }),
      'How many credits to add. A negative number takes credits away. Not 0.',
      -50,
    ),
    reason: Reason,
    idempotencyKey: optional(
      CallIdempotencyKey,
      `Makes a retry safe: ${IDEMPOTENCY_WORDS}. A repeated call with the same key changes nothing.`,
      'ticket-4711',
    ),
  }),
  response: strict({
    adjustmentId: field(Text, 'The id of the adjustment.', EXAMPLE.adjustmentId),
    ...CALL_ANSWER,
  }),
  example: {
    request: { externalId: EXAMPLE.externalId, by: -50, reason: 'credited twice by mistake' },
    response: { adjustmentId: EXAMPLE.adjustmentId, remaining: 97 },
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { by, reason, idempotencyKey = null, ...named }) {
    if (by === 0)
      throw badFields([
        {
          path: 'by',
          message: 'by must not be 0: send how many credits to add, or a negative number to take some away',
        },
      ]);
    const input = { by, reason, idempotencyId: idempotencyKey };
    const { call, remaining, replayed } = await engine.credits.adjust(actor, toHolderReference(named), input);
    return { adjustmentId: call.id, remaining, ...(replayed ? { replayed } : {}) };
  },
});
