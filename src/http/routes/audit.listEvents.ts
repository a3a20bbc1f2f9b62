import { Type } from 'typebox';

import { MAX_COUNT, MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { type Issue, repeatable } from '../../core/errors.ts';
import type { AuditLog } from '../../engine/admin/audit/auditLog.ts';
import { periodIssues } from '../shapes/analyticsFields.ts';
import { badFields } from '../shapes/keyFields.ts';
import { defineRoute } from './route.ts';
import { Id, PageLimit, strict, UnixMs } from '../shapes/schemas.ts';

type Event = Awaited<ReturnType<AuditLog['list']>>['events'][number];

export const EventObject = strict({
  id: Type.String(),
  time: Type.Integer(),
  actor: Type.String(),
  action: Type.String(),
  target: Type.String(),
  before: Type.Optional(Type.Object({})),
  after: Type.Optional(Type.Object({})),
  origin: Type.Optional(Type.String()),
  requestId: Type.Optional(Type.String()),
});

export const listEvents = defineRoute({
  path: '/v1/audit.listEvents',
  method: 'GET',
  summary:
    'List the changes, newest first: who (`actor`, the id of a root key), what (`action`, `target`, `before`, `after`), when, from where (`origin`) and by which request. `start` is included, `end` is not.',
  rights: ['root.*.read_audit'],
  request: strict({
    limit: Type.Optional(PageLimit),
    cursor: Type.Optional(Id),
    actor: Type.Optional(Id),
    action: Type.Optional(Id),
    target: Type.Optional(Id),
    start: Type.Optional(UnixMs),
    end: Type.Optional(UnixMs),
  }),
  response: strict({ events: Type.Array(EventObject), cursor: Type.Optional(Type.String()) }),
  example: {
    request: { limit: 1, target: 'key_1Jm8ZtYh4mRr6GjK8uTx3S' },
    response: {
      events: [
        {
          id: '1042',
          time: 1773576000000,
          actor: 'rk_1Jm8ZtXg3kPp5FhJ9sQw2R',
          action: 'key.update',
          target: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
          before: { enabled: true },
          after: { enabled: false },
          origin: '203.0.113.7',
          requestId: 'req_1Jm8ZuAk6pTt8HlM9vVz4T1111',
        },
      ],
      cursor: '1042',
    },
  },
  errors: [],
  async handle(engine, actor, query) {
    const issues = periodIssues(query);
    const before = toNumber(query.cursor, issues);
    if (issues.length > 0) throw badFields(issues);
    const { events, cursor } = await engine.auditLog.list(actor, {
      limit: query.limit ?? MAX_PAGE_SIZE,
      before,
      actor: query.actor ?? null,
      action: query.action ?? null,
      target: query.target ?? null,
      fromMs: query.start ?? null,
      untilMs: query.end ?? null,
    });
    return { events: events.map(toEventObject), ...(cursor === null ? {} : { cursor: String(cursor) }) };
  },
});

function toNumber(cursor: string | undefined, issues: Issue[]): number | null {
  if (cursor === undefined) return null;
  const number = /^\d{1,16}$/.test(cursor) ? Number(cursor) : NaN;
  if (number <= MAX_COUNT) return number;
  issues.push({ path: 'cursor', message: `cursor must be the cursor of an earlier page, got ${repeatable(cursor)}` });
  return null;
}

function toEventObject({ number, atMs, actor, action, target, before, after, origin, requestId }: Event) {
  return {
    id: String(number),
    time: atMs,
    actor,
    action,
    target,
    ...(before === null ? {} : { before: JSON.parse(before) as object }),
    ...(after === null ? {} : { after: JSON.parse(after) as object }),
    ...(origin === null ? {} : { origin }),
    ...(requestId === null ? {} : { requestId }),
  };
}
