import { type Static, Type } from 'typebox';

import type { Subject } from '../../engine/admin/analytics/analyticsAdmin.ts';
import type { VerificationRow } from '../../engine/admin/analytics/groupRows.ts';
import { PeriodFields, periodIssues, toPeriod } from '../shapes/analyticsFields.ts';
import { badFields } from '../shapes/keyFields.ts';
import { defineRoute } from './route.ts';
import { ExternalId, Id, strict } from '../shapes/schemas.ts';

const Whole = Type.Integer();

const Request = strict({
  keyId: Type.Optional(Id),
  ownerId: Type.Optional(ExternalId),
  ...PeriodFields,
  granularity: Type.Optional(Type.Enum(['day', 'hour'])),
});

export const getKeyVerifications = defineRoute({
  path: '/v1/keys.getVerifications',
  method: 'GET',
  summary: 'Count the verifications of a key, or of all keys of an owner, by outcome and by day or hour.',
  rights: ['api.<apiId>.read_key'],
  request: Request,
  response: strict({
    verifications: Type.Array(
      strict({
        time: Whole,
        success: Whole,
        rateLimited: Whole,
        usageExceeded: Whole,
        forbidden: Whole,
        disabled: Whole,
        expired: Whole,
        insufficientPermissions: Whole,
      }),
    ),
  }),
  example: {
    request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', start: 1783036800000, end: 1783123200000 },
    response: {
      verifications: [
        {
          time: 1783036800000,
          success: 120,
          rateLimited: 4,
          usageExceeded: 0,
          forbidden: 0,
          disabled: 0,
          expired: 0,
          insufficientPermissions: 0,
        },
      ],
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

function toVerification({ timeMs = 0, counts }: VerificationRow): object {
  return {
    time: timeMs,
    success: counts.VALID,
    rateLimited: counts.RATE_LIMITED,
    usageExceeded: counts.USAGE_EXCEEDED,
    forbidden: counts.FORBIDDEN,
    disabled: counts.DISABLED,
    expired: counts.EXPIRED,
    insufficientPermissions: counts.INSUFFICIENT_PERMISSIONS,
  };
}
