import { Type } from 'typebox';

import type { CreditsView } from '../../../engine/admin/keys/keyView.ts';
import { component, field, listOf, optional } from '../schema/described.ts';
import { EXAMPLE } from '../schema/examples.ts';
import { strict, Whole } from '../schema/schemas.ts';

const GrantObject = component(
  'Grant',
  strict({
    left: field(Whole, 'The credits of the grant that are left.', 500),
    expiresAt: field(Whole, 'When they expire, in unix milliseconds.', EXAMPLE.nextMidnight),
  }),
  'Credits that expire. They are spent before those that do not, soonest expiry first.',
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
    listOf(GrantObject, 'The part of `remaining` that expires, soonest first. Absent when there is none.'),
  ),
};

export function toBalance({ remaining, held, grants }: CreditsView): object {
  return {
    ...(remaining === null ? {} : { remaining }),
    ...(held === 0 ? {} : { held }),
    ...(grants.length === 0
      ? {}
      : { grants: grants.map(({ left, expiresAtMs }) => ({ left, expiresAt: expiresAtMs })) }),
  };
}
