import { type Static, Type } from 'typebox';

import type { ExplainedCheck } from '../../../engine/verify/explainedCheck.ts';
import { component, field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { strict, Text, Whole } from '../../../model/schema/schemas.ts';

const Counter = component(
  'ExplainedCounter',
  strict({
    name: field(Text, 'The name of a limit, or `credits`.', 'credits'),
    of: field(
      Type.Enum(['key', 'identity']),
      'Whose counter it is: that of the key, or one that the keys of an identity share.',
      'key',
    ),
    taken: field(Whole, 'What this verification took of it.', 1),
    remaining: optional(Whole, 'What is left after this verification. Absent when usage is only metered.', 2),
    reset: optional(
      Whole,
      'When the window of a limit ends, in milliseconds since 1970. Absent for credits.',
      EXAMPLE.midnight,
    ),
  }),
  'A counter that a check looked at.',
  { name: 'credits', of: 'key', taken: 1, remaining: 2 },
);

/** What one check of a verification found, as `explain` shows it. */
export const ExplainedCheckObject = component(
  'ExplainedCheck',
  strict({
    check: field(Text, 'The name of the check.', 'credits of the key'),
    result: field(
      Type.Enum(['passed', 'refused', 'not reached']),
      '`refused`: this check decided the code. `not reached`: an earlier one refused.',
      'passed',
    ),
    text: field(Text, 'What it found, in words.', 'Enough was left of the credits of the key.'),
    counters: optional(Type.Array(Counter), 'The counters that it looked at. Absent when there are none.', [
      { name: 'credits', of: 'key', taken: 1, remaining: 2 },
    ]),
  }),
  'What one check of a verification found.',
  { check: 'expiry', result: 'passed', text: 'The key does not expire.' },
);

export function toExplainedObject({ counters, ...check }: ExplainedCheck): Static<typeof ExplainedCheckObject> {
  if (counters === undefined) return check;
  return {
    ...check,
    counters: counters.map(({ remaining, resetAtMs, ...counter }) => ({
      ...counter,
      ...(remaining === null ? {} : { remaining }),
      ...(resetAtMs === null ? {} : { reset: resetAtMs }),
    })),
  };
}
