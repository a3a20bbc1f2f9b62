import { type Static, Type } from 'typebox';

import { VERDICT_CODES, VERDICTS } from '../../../core/verdictCodes.ts';
import type { ExplainedCheck } from '../../../engine/verify/verdict.ts';
import { NamedRatelimitResult, RatelimitResult } from '../counters/keyLimitFields.ts';
import { SHOWN_KEY_FIELDS } from './keyObject.ts';
import { KeyId, RequestId } from '../schema/commonFields.ts';
import { component, field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { Flag, strict, Text, Whole } from '../../../model/schema/schemas.ts';

const Counter = component(
  'ExplainedCounter',
  strict({
    name: field(Text, 'The name of a limit, or `credits`.', 'credits'),
    of: field(
      Type.Enum(['key', 'identity']),
      '`key`: it belongs to the key. `identity`: it belongs to the customer, and all keys of the customer share it.',
      'key',
    ),
    taken: field(Whole, 'What this verification took of it.', 1),
    remaining: optional(Whole, 'What is left after this verification. Absent when credits are metered.', 2),
    reset: optional(
      Whole,
      'When the window of a limit ends, in unix milliseconds. Absent for credits.',
      EXAMPLE.midnight,
    ),
  }),
  'A limit, or credits, that a check looked at.',
  { name: 'credits', of: 'key', taken: 1, remaining: 2 },
);

/** What one check of a verification found, as `explain` shows it. */
const ExplainedCheckObject = component(
  'ExplainedCheck',
  strict({
    check: field(Text, 'The name of the check.', 'credits of the key'),
    result: field(
      Type.Enum(['passed', 'refused', 'not reached']),
      '`refused`: this check decided the code. `not reached`: an earlier one refused.',
      'passed',
    ),
    text: field(Text, 'What it found, in words.', 'Enough was left of the credits of the key.'),
    counters: optional(Type.Array(Counter), 'The limits and credits that it looked at. Absent when there are none.', [
      { name: 'credits', of: 'key', taken: 1, remaining: 2 },
    ]),
  }),
  'What one check of a verification found.',
  { check: 'expiry', result: 'passed', text: 'The key does not expire.' },
);

const Texts = Type.Array(Text);

const MEANINGS = VERDICT_CODES.map((code) => `\`${code}\`: ${VERDICTS[code].means}.`);

const Code = component(
  'VerdictCode',
  Type.Enum([...VERDICT_CODES]),
  `The outcome of a verification. ${MEANINGS.join(' ')} Only \`VALID\` takes credits and counts against limits.`,
  'VALID',
);

export const VERDICT_EXAMPLE = {
  valid: true,
  code: 'VALID',
  requestId: EXAMPLE.requestId,
  keyId: EXAMPLE.keyId,
  meta: {},
  enabled: true,
  permissions: [],
  roles: [],
  remaining: 2,
} as const;

/** The fields of a verdict. `NOT_FOUND` has only the required ones. */
export const VERDICT_FIELDS = {
  valid: field(Flag, 'true: the request may pass. It is true with the code VALID only.', true),
  code: Code,
  requestId: RequestId,
  keyId: optional(KeyId, 'The id of the key. Absent with the code NOT_FOUND.'),
  name: SHOWN_KEY_FIELDS.name,
  ownerId: SHOWN_KEY_FIELDS.ownerId,
  meta: SHOWN_KEY_FIELDS.meta,
  expires: SHOWN_KEY_FIELDS.expires,
  enabled: optional(Flag, 'false: the key is disabled. Absent with the code NOT_FOUND.', true),
  environment: SHOWN_KEY_FIELDS.environment,
  permissions: optional(
    Texts,
    'The slugs of all permissions of the key, its own and those of its roles. Absent with the code NOT_FOUND.',
    ['documents.read'],
  ),
  roles: optional(Texts, 'The names of the roles of the key. Absent with the code NOT_FOUND.', ['editor']),
  identity: SHOWN_KEY_FIELDS.identity,
  remaining: optional(
    Whole,
    'The credits that are left after this verification: those of the key or of its customer, whichever are fewer. Absent when neither has credits.',
    2,
  ),
  nextRefillAt: optional(
    Whole,
    'When the credits that were too few are refilled next, in unix milliseconds. Only with the code USAGE_EXCEEDED, and absent when they have no refill.',
    EXAMPLE.nextMidnight,
  ),
  ratelimit: optional(
    RatelimitResult,
    'The rate limit that refused, else the one with the name `default`. Absent when there is neither.',
  ),
  ratelimits: optional(Type.Array(NamedRatelimitResult), 'All rate limits that were checked. Absent when none was.', [
    {
      name: 'default',
      limit: 10,
      duration: 1000,
      remaining: 9,
      reset: EXAMPLE.midnight + 1000,
      async: true,
      exceeded: false,
    },
  ]),
};

/** A verdict as keys.verifyKey answers it. */
export const VerdictObject = component(
  'Verdict',
  strict({
    ...VERDICT_FIELDS,
    explanation: optional(
      Type.Array(ExplainedCheckObject),
      'What each check found, in the order of the checks. Absent unless the request has `explain`.',
      [{ check: 'expiry', result: 'passed', text: 'The key does not expire.' }],
    ),
  }),
  'The verdict on a key. Fields that are not set are absent.',
  VERDICT_EXAMPLE,
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
