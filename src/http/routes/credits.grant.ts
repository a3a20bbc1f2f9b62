import { defineRoute } from './route.ts';
import { CALL_ANSWER, CallIdempotencyKey, Reason } from '../shapes/counters/creditFields.ts';
import { field, optional } from '../../model/schema/described.ts';
import { HOLDER_REFERENCE, toHolderReference } from '../shapes/holders/identityObject.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { IDEMPOTENCY_WORDS, Positive, strict, Text, UnixMs } from '../../model/schema/schemas.ts';

export const grantCredits = defineRoute({
  path: '/v1/credits.grant',
  method: 'POST',
  summary: 'Grant credits to a key or a customer, once.',
  description:
    'For payments: the same idempotency key never grants twice, however often the payment is reported. Credits that expire are spent before those that do not, soonest expiry first. A refill leaves granted credits as they are.',
  rights: ['identity.<identityId>.grant_credits'],
  insteadRights: [{ fields: ['keyId'], rights: ['api.<apiId>.grant_credits'] }],
  request: strict({
    ...HOLDER_REFERENCE,
    amount: field(Positive, 'How many credits.', 1000),
    expiresAt: optional(
      UnixMs,
      'When the credits of this grant that are left expire, in unix milliseconds. They do not expire when absent.',
      EXAMPLE.nextMidnight,
    ),
    reason: Reason,
    idempotencyKey: field(
      CallIdempotencyKey,
      `Names the payment: ${IDEMPOTENCY_WORDS}. A repeated call with the same key changes nothing. It is remembered as long as statements are kept.`,
      'evt_1Nabc',
    ),
  }),
  response: strict({
    grantId: field(Text, 'The id of the grant.', EXAMPLE.grantId),
    ...CALL_ANSWER,
  }),
  example: {
    request: { externalId: 'user_1234', amount: 1000, reason: 'payment in_1Nabc', idempotencyKey: 'evt_1Nabc' },
    response: { grantId: EXAMPLE.grantId, remaining: 1500 },
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { amount, expiresAt = null, reason, idempotencyKey, ...named }) {
    const input = { amount, expiresAtMs: expiresAt, reason, idempotencyId: idempotencyKey };
    const { call, remaining, replayed } = await engine.credits.grant(actor, toHolderReference(named), input);
    return { grantId: call.id, remaining, ...(replayed ? { replayed } : {}) };
  },
});
