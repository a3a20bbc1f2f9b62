import { countField, VERDICT_CODES } from '../../core/verdictCodes.ts';
import { type Static, Type } from 'typebox';

import type { Subject, VerificationRow } from '../../engine/admin/analytics.ts';
import { defineRoute } from './route.ts';
import {
  countsOf,
  creditsOf,
  exampleCounts,
  PeriodFields,
  periodIssues,
  REFUSAL_COLUMNS,
  toPeriod,
} from '../shapes/analyticsFields.ts';
import { component, field, listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { ExternalId, strict, Whole } from '../../model/schema/schemas.ts';

const Request = strict({
  keyId: optional(KeyId, 'The id of the key. Give either `keyId` or `ownerId`.'),
  ownerId: optional(
    ExternalId,
    'Your own id of a customer, 1 to 256 characters: count all its keys that the root key may read. Give either `keyId` or `ownerId`.',
    EXAMPLE.externalId,
  ),
  ...PeriodFields,
  granularity: optional(Type.Enum(['day', 'hour']), 'What each row stands for. `day` when absent.', 'hour'),
});

/** No row counts NOT_FOUND: an unknown key has no rows. */
const REFUSALS = VERDICT_CODES.filter((code) => code !== 'VALID' && code !== 'NOT_FOUND');

const ROW_EXAMPLE = {
  time: EXAMPLE.midnight,
  success: 120,
  ...exampleCounts(REFUSALS, { RATE_LIMITED: 4 }),
  credits: 120,
};

const RowObject = component(
  'KeyVerificationCounts',
  strict({
    time: field(Whole, 'When the day or hour (UTC) begins, in unix milliseconds.', ROW_EXAMPLE.time),
    success: field(Whole, 'How many verifications were valid.', ROW_EXAMPLE.success),
    ...countsOf(REFUSALS, { RATE_LIMITED: 4 }),
    credits: creditsOf(ROW_EXAMPLE.credits),
  }),
  'How many verifications of a key had each verdict, and the credits that they took.',
  ROW_EXAMPLE,
);

export const getKeyVerifications = defineRoute({
  path: '/v1/keys.getVerifications',
  method: 'GET',
  summary: 'Count the verifications of a key, or of all keys of a customer, by outcome and by day or hour.',
  rights: ['api.<apiId>.read_key'],
  command: { name: 'key verifications', columns: ['time', 'credits', 'success', ...REFUSAL_COLUMNS] },
  request: Request,
  response: strict({
    verifications: listOf(
      RowObject,
      'One row for each day or hour (UTC) of the period, earliest first, even if nothing happened in it.',
    ),
  }),
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', start: 1783036800000, end: 1783123200000 },
    response: {
      verifications: [ROW_EXAMPLE],
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, body) {
    const period = { ...toPeriod(body), granularity: body.granularity ?? 'day' } as const;
    const rows = await engine.analytics.getKeyVerifications(actor, toSubject(body), period);
    return { verifications: rows.map(toVerification) };
  },
});

function toSubject(body: Static<typeof Request>): Subject {
  const { keyId, ownerId } = body;
  const issues = periodIssues(body);
  const isOne = (keyId === undefined) !== (ownerId === undefined);
  if (!isOne) issues.push({ path: 'keyId', message: 'give either keyId or ownerId' });
  if (issues.length > 0) throw badFields(issues);
  return keyId === undefined ? { ownerId: ownerId ?? '' } : { keyId };
}

function toVerification({ timeMs = 0, counts, credits }: VerificationRow): object {
  return {
    time: timeMs,
    success: counts.VALID,
    ...Object.fromEntries(REFUSALS.map((code) => [countField(code), counts[code]])),
    credits,
  };
}
