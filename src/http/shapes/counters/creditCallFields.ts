import { Type } from 'typebox';

import { MAX_REASON_LENGTH } from '../../../core/bounds.ts';
import { EXPECTED, field, optional } from '../../../model/schema/described.ts';
import { Flag, IDEMPOTENCY_PATTERN, IDEMPOTENCY_WORDS, Whole, words } from '../../../model/schema/schemas.ts';

export const CallIdempotencyKey = Type.String({ pattern: IDEMPOTENCY_PATTERN, [EXPECTED]: IDEMPOTENCY_WORDS });

export const Reason = field(
  words(1, MAX_REASON_LENGTH),
  'Why, for the audit log, 1 to 256 characters.',
  'payment in_1Nabc',
);

export const REPLAYED = optional(
  Flag,
  'true: the call was made before under the same idempotency key, and nothing changed now. Absent otherwise.',
  true,
);

/** What both calls answer besides their id. */
export const CALL_ANSWER = {
  remaining: field(Whole, 'The balance after the call, without what reservations hold.', 1500),
  replayed: REPLAYED,
};
