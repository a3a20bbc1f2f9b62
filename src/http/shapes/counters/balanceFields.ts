import { Type } from 'typebox';

import type { CreditsView } from '../../../engine/admin/keys/keyView.ts';
import { component, field, listOf, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { strict, Whole } from '../../../model/schema/schemas.ts';

const GrantObject = component(
  'Grant',
  strict({
    left: field(Whole, 'The credits of the grant that are left.', 500),
    expiresAt: optional(
      Whole,
      'When they expire, in unix milliseconds. Absent: they do not, and are spent after all other credits.',
      EXAMPLE.nextMidnight,
    ),
  }),
  'Granted credits. Those that expire are spent before all others, soonest expiry first, and those that do not after all others. Refills leave them alone.',
  { left: 500, expiresAt: EXAMPLE.nextMidnight },
);

/** What an answer shows of credits beside `remaining`. */
export const BALANCE_FIELDS = {
  held: optional(
    Whole,
    'The credits that reservations hold. They are not in `remaining`. Absent when nothing is held.',
    40,
  ),
  grants: Type.Optional(
    listOf(
      GrantObject,
      'The part of `remaining` that was granted, in the order in which it is spent; all that does not expire is one entry. Absent when there is none.',
    ),
  ),
};

export function toBalance({ remaining, held, grants, lasting }: CreditsView): object {
  return {
    ...(remaining === null ? {} : { remaining }),
    ...(held === 0 ? {} : { held }),
    ...(grants.length + lasting === 0
      ? {}
      : {
          grants: [
            ...grants.map(({ left, expiresAtMs }) => ({ left, expiresAt: expiresAtMs })),
            ...(lasting === 0 ? [] : [{ left: lasting }]),
          ],
        }),
  };
}
