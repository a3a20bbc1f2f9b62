import { Type } from 'typebox';

import { MAX_COUNT, MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { type Issue, repeatable } from '../../core/errors.ts';
import type { AuditLog } from '../../engine/admin/audit.ts';
import { defineRoute } from './route.ts';
import { periodIssues } from '../shapes/analyticsFields.ts';
import { component, field, listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { nextCursor, pageCursor, PageLimit } from '../shapes/schema/commonFields.ts';
import { Id, strict, Text, UnixMs, Whole } from '../../model/schema/schemas.ts';

const ChangedFields = component(
  'ChangedFields',
  Type.Object({}, { additionalProperties: true }),
  'Fields of a record, under their names in the API. Each kind of record has its own. If the JSON of a value is longer than 1024 bytes, the log keeps `{"sha256": ..., "bytes": ...}`: the SHA-256 of that JSON in hexadecimal, and its length.',
  { enabled: true },
);

type Entry = Awaited<ReturnType<AuditLog['list']>>['entries'][number];

const ENTRY_EXAMPLE = {
  id: '1042',
  time: 1773576000000,
  actor: EXAMPLE.rootKeyId,
  action: 'key.update',
  target: EXAMPLE.keyId,
  before: { enabled: true },
  after: { enabled: false },
  origin: '203.0.113.7',
  requestId: EXAMPLE.requestId,
};

const ACTOR_WORDS = 'the id of a root key, `cli` for the command line, or `system` for the service itself';

export const EntryObject = component(
  'AuditEntry',
  strict({
    id: field(Text, 'The number of the entry, as a string. Later entries have higher numbers.', ENTRY_EXAMPLE.id),
    time: field(Whole, 'When the change was made, in unix milliseconds.', ENTRY_EXAMPLE.time),
    actor: field(Text, `Who made the change: ${ACTOR_WORDS}.`, ENTRY_EXAMPLE.actor),
    action: field(Text, 'What was done: a kind of record and a verb.', ENTRY_EXAMPLE.action),
    target: field(Text, 'The id of the record that was changed.', ENTRY_EXAMPLE.target),
    before: optional(
      ChangedFields,
      'The fields that differ, as they were before. Absent for a new record.',
      ENTRY_EXAMPLE.before,
    ),
    after: optional(
      ChangedFields,
      'The fields that differ, as they are after the change. Absent for a record that was deleted; a deleted key has `permanent` here.',
      ENTRY_EXAMPLE.after,
    ),
    origin: optional(
      Text,
      'The address of the caller. Absent when the change did not come over the network.',
      ENTRY_EXAMPLE.origin,
    ),
    requestId: optional(
      Text,
      'The `Keystile-Request-Id` of the call. One call can leave several entries. Absent when there was no request.',
      ENTRY_EXAMPLE.requestId,
    ),
    via: optional(
      Type.Enum(['dashboard', 'portal']),
      'Where the change was made. `portal`: by a customer in the portal, with a link that this root key made. Absent when the actor called the API itself, or used the command line.',
      'dashboard',
    ),
  }),
  'One change, as the audit log keeps it. It never contains a secret.',
  ENTRY_EXAMPLE,
);

export const listEntries = defineRoute({
  path: '/v1/audit.listEntries',
  method: 'GET',
  summary: 'List the changes, newest first: who changed what, when, from where, and by which request.',
  description:
    'An entry is listed when it matches all filters. `start` is included, `end` is not. Verifications are not in the audit log. Entries are kept forever, or for `KEYSTILE_AUDIT_RETENTION`.',
  rights: ['root.*.read_audit'],
  request: strict({
    limit: PageLimit,
    cursor: pageCursor(Id, '1042'),
    actor: optional(Id, `List only changes by this actor: ${ACTOR_WORDS}.`, EXAMPLE.rootKeyId),
    action: optional(Id, 'List only changes of this kind.', 'key.update'),
    target: optional(Id, 'List only changes of the record with this id.', EXAMPLE.keyId),
    start: optional(UnixMs, 'List only changes from this time on, in unix milliseconds.', EXAMPLE.midnight),
    end: optional(
      UnixMs,
      'List only changes before this time, in unix milliseconds. It must be after `start`.',
      EXAMPLE.nextMidnight,
    ),
  }),
  response: strict({ entries: listOf(EntryObject, 'The entries of this page.'), cursor: nextCursor('1042') }),
  example: {
    request: { limit: 1, target: 'key_1Jm8ZtYh4mRr6GjK8uTx3S' },
    response: {
      entries: [ENTRY_EXAMPLE],
      cursor: '1042',
    },
  },
  errors: [],
  async handle(engine, actor, query) {
    const issues = periodIssues(query);
    const before = toNumber(query.cursor, issues);
    if (issues.length > 0) throw badFields(issues);
    const { entries, cursor } = await engine.auditLog.list(actor, {
      limit: query.limit ?? MAX_PAGE_SIZE,
      before,
      actor: query.actor ?? null,
      action: query.action ?? null,
      target: query.target ?? null,
      fromMs: query.start ?? null,
      untilMs: query.end ?? null,
    });
    return { entries: entries.map(toEntryObject), ...(cursor === null ? {} : { cursor: String(cursor) }) };
  },
});

function toNumber(cursor: string | undefined, issues: Issue[]): number | null {
  if (cursor === undefined) return null;
  const number = /^\d{1,16}$/.test(cursor) ? Number(cursor) : NaN;
  if (number <= MAX_COUNT) return number;
  issues.push({ path: 'cursor', message: `cursor must be the cursor of an earlier page, got ${repeatable(cursor)}` });
  return null;
}

function toEntryObject({ number, atMs, actor, action, target, before, after, origin, requestId, via }: Entry) {
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
    ...(via === null ? {} : { via }),
  };
}
