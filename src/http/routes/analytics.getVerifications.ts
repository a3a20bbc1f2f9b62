import type { VerdictCode } from '../../core/verdictCodes.ts';
import { type Static, Type } from 'typebox';

import { MAX_TAG_LENGTH } from '../../core/bounds.ts';
import type { Issue } from '../../core/errors.ts';
import { GROUPS, type VerificationsQuery } from '../../engine/admin/analytics/analyticsAdmin.ts';
import type { VerificationRow } from '../../engine/admin/analytics/groupRows.ts';
import { MAX_ROWS, TIME_GROUPS } from '../../engine/admin/analytics/timeRange.ts';
import { asList, oneOrMany, PeriodFields, periodIssues, toPeriod } from '../shapes/analyticsFields.ts';
import { badFields } from '../shapes/keyFields.ts';
import { defineRoute } from './route.ts';
import { ExternalId, Id, strict, words } from '../shapes/schemas.ts';

/** The largest number of keys, and of tags, in one request. */
const MAX_FILTERED = 100;

const COLUMNS = {
  valid: 'VALID',
  notFound: 'NOT_FOUND',
  forbidden: 'FORBIDDEN',
  usageExceeded: 'USAGE_EXCEEDED',
  rateLimited: 'RATE_LIMITED',
  disabled: 'DISABLED',
  insufficientPermissions: 'INSUFFICIENT_PERMISSIONS',
  expired: 'EXPIRED',
} as const satisfies Record<string, VerdictCode>;

type Column = keyof typeof COLUMNS;

/** The client library knows the code `unauthorized`. No verification has it here. */
const ORDERS = ['time', ...(Object.keys(COLUMNS) as Column[]), 'unauthorized', 'total'] as const;

const Whole = Type.Integer();
const Tag = words(1, MAX_TAG_LENGTH);
const Request = strict({
  apiId: Id,
  externalId: Type.Optional(ExternalId),
  keyId: Type.Optional(oneOrMany(Id, MAX_FILTERED)),
  tag: Type.Optional(oneOrMany(Tag, MAX_FILTERED)),
  tags: Type.Optional(oneOrMany(Tag, MAX_FILTERED)),
  ...PeriodFields,
  groupBy: Type.Optional(oneOrMany(Type.Enum(GROUPS), GROUPS.length)),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_ROWS })),
  orderBy: Type.Optional(Type.Enum(ORDERS)),
  order: Type.Optional(Type.Enum(['asc', 'desc'])),
});

export const getVerifications = defineRoute({
  path: '/v1/analytics.getVerifications',
  method: 'GET',
  summary:
    'Count the verifications of an api by outcome: in total, or by hour, day or month, key, identity, single `tag` or whole list of `tags`.',
  rights: ['api.<apiId>.read_analytics', 'api.<apiId>.read_api'],
  isOneRightEnough: true,
  request: Request,
  response: Type.Array(
    strict({
      time: Type.Optional(Whole),
      ...Object.fromEntries([...Object.keys(COLUMNS), 'unauthorized', 'total'].map((name) => [name, Whole])),
      keyId: Type.Optional(Type.String()),
      identity: Type.Optional(strict({ id: Type.String(), externalId: Type.String() })),
      tag: Type.Optional(Type.String()),
      tags: Type.Optional(Type.Array(Type.String())),
    }),
  ),
  example: {
    request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R', groupBy: ['day'], start: 1783036800000, end: 1783123200000 },
    response: [
      {
        time: 1783036800000,
        valid: 4200,
        notFound: 1,
        forbidden: 0,
        usageExceeded: 3,
        rateLimited: 17,
        unauthorized: 0,
        disabled: 0,
        insufficientPermissions: 0,
        expired: 2,
        total: 4223,
      },
    ],
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, body) {
    return (await engine.analytics.getVerifications(actor, toQuery(body))).map(toRowObject);
  },
});

function toQuery(body: Static<typeof Request>): VerificationsQuery {
  const groupBy = [...new Set(asList(body.groupBy))];
  const times = TIME_GROUPS.filter((group) => groupBy.includes(group));
  const orderBy = body.orderBy ?? (times.length > 0 ? 'time' : 'total');
  const issues: Issue[] = periodIssues(body);
  if (times.length > 1)
    issues.push({ path: 'groupBy', message: `groupBy can contain only one of ${TIME_GROUPS.join(', ')}` });
  if (orderBy === 'time' && times.length === 0) {
    issues.push({ path: 'orderBy', message: `orderBy "time" needs one of ${TIME_GROUPS.join(', ')} in groupBy` });
  }
  if (issues.length > 0) throw badFields(issues);
  const tags = [...(asList(body.tag) ?? []), ...(asList(body.tags) ?? [])];
  return {
    ...toPeriod(body),
    apiId: body.apiId,
    externalId: body.externalId ?? null,
    keyIds: asList(body.keyId),
    tags: tags.length === 0 ? null : tags,
    groupBy,
    limit: body.limit ?? null,
    order: toOrder(orderBy, body.order ?? (orderBy === 'time' ? 'asc' : 'desc')),
  };
}

function toOrder(orderBy: (typeof ORDERS)[number], order: 'asc' | 'desc'): VerificationsQuery['order'] {
  // It is 0 in all rows, so there is nothing to sort.
  if (orderBy === 'unauthorized') return null;
  const by = orderBy === 'time' || orderBy === 'total' ? orderBy : COLUMNS[orderBy];
  return { by, isDescending: order === 'desc' };
}

function toRowObject({ timeMs, keyId, identity, tag, tags, counts, total }: VerificationRow): object {
  const columns = Object.entries(COLUMNS).map(([name, code]) => [name, counts[code]] as const);
  return {
    ...(timeMs === undefined ? {} : { time: timeMs }),
    ...Object.fromEntries(columns),
    unauthorized: 0,
    total,
    ...(keyId === undefined ? {} : { keyId }),
    ...(identity === undefined ? {} : { identity }),
    ...(tag === undefined ? {} : { tag }),
    ...(tags === undefined ? {} : { tags }),
  };
}
