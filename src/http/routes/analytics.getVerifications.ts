import { countField, VERDICT_CODES } from '../../core/verdictCodes.ts';
import { type Static, Type } from 'typebox';

import { MAX_TAG_LENGTH } from '../../core/bounds.ts';
import type { Issue } from '../../core/errors.ts';
import {
  GROUPS,
  type VerificationsQuery,
  type VerificationRow,
  MAX_ROWS,
  TIME_GROUPS,
} from '../../engine/admin/analytics.ts';
import { defineRoute } from './route.ts';
import {
  asList,
  countsOf,
  creditsOf,
  exampleCounts,
  oneOrMany,
  PeriodFields,
  periodIssues,
  REFUSAL_COLUMNS,
  toPeriod,
} from '../shapes/analyticsFields.ts';
import { component, field, listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ApiId, IdentityId } from '../shapes/schema/commonFields.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { ExternalId, Id, strict, Text, Whole, words } from '../../model/schema/schemas.ts';

/** The largest number of keys, and of tags, in one request. */
const MAX_FILTERED = 100;

/** The code of each field with a count. */
const CODES = new Map(VERDICT_CODES.map((code) => [countField(code), code]));

/** Older clients also sort by `unauthorized`, which is 0 in every row. */
const ORDERS = ['time', ...CODES.keys(), 'unauthorized', 'total', 'credits'];

const EXAMPLES = { VALID: 4200, RATE_LIMITED: 17, USAGE_EXCEEDED: 3, EXPIRED: 2, NOT_FOUND: 1 };
const EXAMPLE_ROW = {
  time: EXAMPLE.midnight,
  ...exampleCounts(VERDICT_CODES, EXAMPLES),
  unauthorized: 0,
  total: 4223,
  credits: 4200,
};

const Tag = words(1, MAX_TAG_LENGTH);
const Group = component(
  'VerificationGroup',
  Type.Enum(GROUPS),
  'What a row of counts stands for. With `tag`, a verification counts under each of its tags; with `tags`, it counts once, under its whole list of tags.',
  'day',
);
const TAG_WORDS = 'Count only verifications with any of these tags: one, or up to 100. All when absent.';
const Request = strict({
  apiId: ApiId,
  externalId: optional(
    ExternalId,
    'Your own id of a customer, 1 to 256 characters: count only verifications of keys that belonged to it at that time. All customers when absent.',
    EXAMPLE.externalId,
  ),
  keyId: optional(
    oneOrMany(Id, MAX_FILTERED),
    'Count only verifications of these keys, by id: one, or up to 100. All keys of the api when absent.',
    EXAMPLE.keyId,
  ),
  tag: optional(oneOrMany(Tag, MAX_FILTERED), TAG_WORDS, 'path=/v1/charge'),
  tags: optional(oneOrMany(Tag, MAX_FILTERED), `${TAG_WORDS} The same as \`tag\`; the two lists are added together.`, [
    'eu',
    'us',
  ]),
  ...PeriodFields,
  groupBy: optional(
    oneOrMany(Group, GROUPS.length),
    'What each row stands for: one or several of these, but only one of `minute`, `hour`, `day` and `month`. When absent, one row counts everything.',
    ['day'],
  ),
  limit: optional(
    Type.Integer({ minimum: 1, maximum: MAX_ROWS }),
    'The largest number of rows, from 1 to 10000. When absent, a result of more than 10000 rows answers 400.',
    100,
  ),
  orderBy: optional(
    Type.Enum(ORDERS),
    'What the rows are sorted by. `time` needs a time in `groupBy`. When absent: `time` if the rows are grouped by time, else `total`.',
    'total',
  ),
  order: optional(
    Type.Enum(['asc', 'desc']),
    '`asc`: the earliest or smallest row first. `desc`: the latest or largest first. When absent: `asc` by time, else `desc`.',
    'desc',
  ),
});

/** What a row stands for. */
const ROW_SUBJECTS = ['time', 'keyId', 'identity', 'tag', 'tags'];

const RowObject = component(
  'VerificationCounts',
  strict({
    time: optional(
      Whole,
      'When the minute, hour, day or month (UTC) begins, in unix milliseconds. Absent when the rows are not grouped by time.',
      EXAMPLE.midnight,
    ),
    ...countsOf(VERDICT_CODES, EXAMPLES),
    unauthorized: field(Whole, 'Always 0. Older programs read it.', 0),
    total: field(Whole, 'How many verifications there were, whatever their verdict.', 4223),
    credits: creditsOf(4200),
    keyId: optional(
      Text,
      'The key of this row, when grouped by `key`. Absent in the row of unknown keys.',
      EXAMPLE.keyId,
    ),
    identity: optional(
      strict({
        id: IdentityId,
        externalId: field(
          Text,
          'Your own id of the customer. Empty when the customer was deleted.',
          EXAMPLE.externalId,
        ),
      }),
      'The customer of this row, when grouped by `identity`. Absent in the row of keys without a customer.',
      { id: EXAMPLE.identityId, externalId: EXAMPLE.externalId },
    ),
    tag: optional(
      Text,
      'The tag of this row, when grouped by `tag`. Absent in the row of verifications without tags.',
      'eu',
    ),
    tags: optional(
      Type.Array(Text),
      'The list of tags of this row, sorted, when grouped by `tags`. `[]` for verifications without tags.',
      ['eu', 'path=/v1/charge'],
    ),
  }),
  'How many verifications had each verdict, and the credits that they took.',
  EXAMPLE_ROW,
);

export const getVerifications = defineRoute({
  path: '/v1/analytics.getVerifications',
  method: 'GET',
  summary:
    'Count the verifications of an api by outcome: in total, or by minute, hour, day or month, key, customer, single `tag` or whole list of `tags`.',
  rights: ['api.<apiId>.read_analytics', 'api.<apiId>.read_api'],
  isOneRightEnough: true,
  command: {
    name: 'analytics verifications',
    flags: { tags: null },
    columns: [...ROW_SUBJECTS, 'total', 'credits', 'valid', ...REFUSAL_COLUMNS, 'notFound'],
    columnsIfAny: ROW_SUBJECTS,
  },
  request: Request,
  response: listOf(RowObject, 'One row for each group.'),
  example: {
    request: { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R', groupBy: ['day'], start: 1783036800000, end: 1783123200000 },
    response: [EXAMPLE_ROW],
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

function toOrder(orderBy: string, order: 'asc' | 'desc'): VerificationsQuery['order'] {
  const by = orderBy === 'time' || orderBy === 'total' || orderBy === 'credits' ? orderBy : CODES.get(orderBy);
  // `unauthorized` is 0 in all rows, so there is nothing to sort.
  return by === undefined ? null : { by, isDescending: order === 'desc' };
}

function toRowObject({ timeMs, keyId, identity, tag, tags, counts, total, credits }: VerificationRow): object {
  const columns = [...CODES].map(([name, code]) => [name, counts[code]] as const);
  return {
    ...(timeMs === undefined ? {} : { time: timeMs }),
    ...Object.fromEntries(columns),
    unauthorized: 0,
    total,
    credits,
    ...(keyId === undefined ? {} : { keyId }),
    ...(identity === undefined ? {} : { identity }),
    ...(tag === undefined ? {} : { tag }),
    ...(tags === undefined ? {} : { tags }),
  };
}
