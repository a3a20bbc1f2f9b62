import { type Static, Type } from 'typebox';

import { MAX_STATEMENT_ROWS } from '../../core/bounds.ts';
import { type Issue, repeatable } from '../../core/errors.ts';
import { idPattern } from '../../core/ids.ts';
import { STATEMENT_SPANS } from '../../core/statementRows.ts';
import type { RowCursor, RowQuery, StatementSubject } from '../../engine/admin/statements.ts';
import {
  acceptedFormat,
  rowText,
  STATEMENT_FORMATS,
  STATEMENT_TYPES,
  statementHeading,
  statementText,
} from '../answer/streamedAnswer.ts';
import { Instant, periodIssues, toPeriod } from '../shapes/analyticsFields.ts';
import { listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { IdentityId, KeyId, nextCursor, pageCursor, PlanId } from '../shapes/schema/commonFields.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { ExternalId, Flag, Id, strict } from '../../model/schema/schemas.ts';
import { ROW_EXAMPLE, StatementRowObject, toRowObject } from '../shapes/counters/statementObject.ts';
import { defineRoute } from './route.ts';

const SUBJECTS = ['keyId', 'externalId', 'identityId', 'planId', 'all'] as const;
const ONE_OF = 'Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`.';
const CURSOR = new RegExp(
  `^(${['key', 'id'].map((prefix) => idPattern(prefix as 'key').slice(1, -1)).join('|')})(?::(\\d{1,15})(:now)?)?$`,
);
const CURSOR_EXAMPLE = `${EXAMPLE.identityId}:${EXAMPLE.midnight}`;

const Request = strict({
  keyId: optional(KeyId, `The statement of this key's own credits. ${ONE_OF}`),
  externalId: optional(ExternalId, `The statement of a customer, by your own id of it. ${ONE_OF}`, EXAMPLE.externalId),
  identityId: optional(IdentityId, `The statement of this customer, even after it was deleted. ${ONE_OF}`),
  planId: optional(PlanId, `The statements of all customers and keys that are on this plan now. ${ONE_OF}`),
  all: optional(Flag, `true: the statements of all keys and customers, including deleted ones. ${ONE_OF}`, true),
  per: optional(
    Type.Enum(STATEMENT_SPANS),
    'What a row stands for: `day`, one UTC day, or `period`, the time from one refill to the next. `day` when absent.',
    'day',
  ),
  start: optional(
    Instant,
    'Only days or periods that end after this time, in unix milliseconds. They are whole, so the first may begin earlier. All that are kept when absent (or null).',
    EXAMPLE.midnight,
  ),
  end: optional(
    Instant,
    'Only days or periods that begin before this time, in unix milliseconds. It must be after `start`. Up to now when absent (or null).',
    EXAMPLE.nextMidnight,
  ),
  format: optional(
    Type.Enum(STATEMENT_FORMATS),
    '`json`: one page. `csv` or `ndjson`: all rows, sent while they are read. When absent, the Accept header decides: `text/csv` or `application/x-ndjson`, else `json`.',
    'csv',
  ),
  limit: optional(
    Type.Integer({ minimum: 1, maximum: MAX_STATEMENT_ROWS }),
    'The largest number of rows in a page, from 1 to 1000. 1000 when absent. A page also ends after 100 keys and customers, so it can have fewer rows, or none.',
    100,
  ),
  cursor: pageCursor(Id, CURSOR_EXAMPLE),
});

type Body = Static<typeof Request>;

const STATEMENT_EXAMPLES = {
  'text/csv': statementHeading('csv') + rowText('csv', ROW_EXAMPLE),
  'application/x-ndjson': rowText('ndjson', ROW_EXAMPLE),
};

export const getStatement = defineRoute({
  path: '/v1/usage.getStatement',
  method: 'GET',
  summary:
    'Read what happened to credits, by day or by refill period: of one key or customer, of all on a plan, or of all.',
  description:
    'In every row, closing = opening + granted + refilled + adjusted - spent - expired. Rows are exact at the moment of the call. They are sorted by the id of the key or customer, then by time. A day or period in which nothing happened has no row. Rows are kept for `KEYSTILE_STATEMENT_RETENTION`.',
  rights: ['identity.<identityId>.read_usage'],
  insteadRights: [
    { fields: ['keyId'], rights: ['api.<apiId>.read_usage'] },
    { fields: ['planId'], rights: ['plan.<planId>.read_usage'] },
    { fields: ['all'], rights: ['api.*.read_usage', 'identity.*.read_usage'] },
  ],
  request: Request,
  response: strict({
    rows: listOf(StatementRowObject, 'The rows of this page.'),
    cursor: nextCursor(CURSOR_EXAMPLE),
  }),
  example: {
    request: { externalId: EXAMPLE.externalId, per: 'day', start: EXAMPLE.midnight },
    response: { rows: [ROW_EXAMPLE] },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, body) {
    const issues = issuesOf(body);
    const cursor = toCursor(body.cursor, issues);
    if (issues.length > 0) throw badFields(issues);
    const query = { ...toRowQuery(body), limit: body.limit ?? MAX_STATEMENT_ROWS, cursor };
    const page = await engine.usage.getStatement(actor, toSubject(body), query);
    return { rows: page.rows.map(toRowObject), ...(page.cursor === null ? {} : { cursor: showCursor(page.cursor) }) };
  },
  stream: {
    examples: STATEMENT_EXAMPLES,
    async open(engine, actor, body, accept) {
      const format = body.format ?? acceptedFormat(accept);
      if (format === 'json') return null;
      const issues = issuesOf(body);
      for (const path of ['cursor', 'limit'] as const) {
        if (body[path] === undefined) continue;
        issues.push({
          path,
          message: `${path} is for pages of JSON. The format "${format}" answers all rows: leave ${path} out`,
        });
      }
      if (issues.length > 0) throw badFields(issues);
      const parts = await engine.usage.streamStatement(actor, toSubject(body), toRowQuery(body));
      return { type: STATEMENT_TYPES[format], pieces: statementText(format, parts) };
    },
  },
});

function issuesOf(body: Body): Issue[] {
  const given = SUBJECTS.filter((name) => (name === 'all' ? body.all === true : body[name] !== undefined));
  const issues = periodIssues(body);
  const list = `${SUBJECTS.slice(0, -1).join(', ')} and all: true`;
  if (given.length === 0) issues.push({ path: '', message: `give one of ${list}` });
  if (given.length > 1)
    issues.push({ path: given[1] ?? '', message: `give only one of ${list}, got ${given.join(' and ')}` });
  return issues;
}

function toSubject({ keyId, externalId, identityId, planId }: Body): StatementSubject {
  if (keyId !== undefined) return { keyId };
  if (externalId !== undefined) return { identity: { externalId } };
  if (identityId !== undefined) return { identity: { id: identityId } };
  return planId === undefined ? { all: true } : { planId };
}

function toRowQuery(body: Body): RowQuery {
  return { per: body.per ?? 'day', ...toPeriod(body) };
}

function toCursor(cursor: string | undefined, issues: Issue[]): RowCursor | null {
  if (cursor === undefined) return null;
  const [, holderId, startMs, present] = CURSOR.exec(cursor) ?? [];
  const row = startMs === undefined ? null : { startMs: Number(startMs), isPresent: present !== undefined };
  if (holderId !== undefined) return { holderId, row };
  issues.push({ path: 'cursor', message: `cursor must be the cursor of an earlier page, got ${repeatable(cursor)}` });
  return null;
}

/** `:now`: the page ends after a row of the account that the holder has now. */
function showCursor({ holderId, row }: RowCursor): string {
  return row === null ? holderId : `${holderId}:${row.startMs}${row.isPresent ? ':now' : ''}`;
}
