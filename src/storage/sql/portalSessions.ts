import type { PortalAction, PortalSessionRecord } from '../../core/portalSession.ts';
import type { FoundPortalSession } from '../port/records.ts';
import type { RecordWrite } from '../port/writes.ts';
import { holdName } from './boundedRecords.ts';
import { toRootKey } from './query/recordRows.ts';
import { insert, type SqlReader, type WriteStatement } from './query/statement.ts';

interface PortalSessionRow {
  id: string;
  digest: string;
  root_key_id: string;
  identity_id: string;
  api_id: string;
  /** Separated by spaces. */
  allowed: string;
  key_defaults: string | null;
  return_url: string | null;
  created_at_ms: number;
  opened_at_ms: number | null;
  until_ms: number;
  changes: number;
}

type PortalWrite = Extract<RecordWrite, { kind: `${string}Portal${string}` }>;

const FIND = `SELECT s.id AS session_id, s.digest, s.root_key_id, s.identity_id, s.api_id, s.allowed, s.key_defaults, s.return_url,
  s.created_at_ms AS made_at_ms, s.opened_at_ms, s.until_ms, s.changes, r.*
  FROM portal_sessions s JOIN root_keys r ON r.id = s.root_key_id WHERE s.digest = $1`;

/** It may have ended. */
export async function findPortalSession(reader: SqlReader, digest: string): Promise<FoundPortalSession | null> {
  type Found = PortalSessionRow & { session_id: string; made_at_ms: number };
  const [row] = await reader.find<Found>({ sql: FIND, params: [digest] });
  if (row === undefined) return null;
  return { session: toSession({ ...row, id: row.session_id, created_at_ms: row.made_at_ms }), rootKey: toRootKey(row) };
}

/** The sessions of an identity that have not ended, newest first. */
export async function listPortalSessions(reader: SqlReader, identityId: string, nowMs: number): Promise<string[]> {
  const sql = `SELECT id FROM portal_sessions WHERE identity_id = $1 AND until_ms > $2 ORDER BY created_at_ms DESC, id DESC`;
  return (await reader.scan<{ id: string }>({ sql, params: [identityId, nowMs] })).map(({ id }) => id);
}

export function portalStatements(write: PortalWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertPortalSession':
      return [
        holdPortalOf(write.session.identityId),
        insert('portal_sessions', columnsOf(write.session)),
        endOldest(write.session, write.most),
      ];
    case 'openPortalSession': {
      const { sessionId, expect, digest, openedAtMs, untilMs } = write;
      return [
        {
          sql: 'UPDATE portal_sessions SET digest = $1, opened_at_ms = $2, until_ms = $3 WHERE id = $4 AND digest = $5',
          params: [digest, openedAtMs, untilMs, sessionId, expect],
          expects: 1,
        },
      ];
    }
    case 'countPortalChange':
      return [
        holdPortalOf(write.identityId),
        {
          sql: `UPDATE portal_sessions SET changes = changes + 1 WHERE id = $1
            AND (SELECT sum(changes) FROM portal_sessions WHERE identity_id = $2) < $3`,
          params: [write.sessionId, write.identityId, write.most],
          expects: 1,
        },
      ];
    case 'endPortalSession':
      return [
        {
          sql: 'UPDATE portal_sessions SET until_ms = $1 WHERE id = $2 AND until_ms > $1',
          params: [write.endedAtMs, write.sessionId],
          expects: null,
        },
      ];
  }
}

/** Locks the row, so that the sessions of an identity, and the changes in them, are counted one after the other. */
function holdPortalOf(identityId: string): WriteStatement {
  return holdName(`portal of ${identityId}`);
}

function endOldest({ identityId, createdAtMs: nowMs }: PortalSessionRecord, most: number): WriteStatement {
  const live = 'identity_id = $2 AND until_ms > $1';
  return {
    sql: `UPDATE portal_sessions SET until_ms = $1 WHERE ${live} AND id NOT IN (
      SELECT id FROM portal_sessions WHERE ${live} ORDER BY created_at_ms DESC, id DESC LIMIT $3)`,
    params: [nowMs, identityId, most],
    expects: null,
  };
}

function columnsOf(session: PortalSessionRecord): Record<keyof PortalSessionRow, string | number | null> {
  return {
    id: session.id,
    digest: session.digest,
    root_key_id: session.rootKeyId,
    identity_id: session.identityId,
    api_id: session.apiId,
    allowed: session.allow.join(' '),
    key_defaults: session.keyDefaults,
    return_url: session.returnUrl,
    created_at_ms: session.createdAtMs,
    opened_at_ms: session.openedAtMs,
    until_ms: session.untilMs,
    changes: session.changes,
  };
}

function toSession(row: PortalSessionRow): PortalSessionRecord {
  return {
    id: row.id,
    digest: row.digest,
    rootKeyId: row.root_key_id,
    identityId: row.identity_id,
    apiId: row.api_id,
    allow: row.allowed === '' ? [] : (row.allowed.split(' ') as PortalAction[]),
    keyDefaults: row.key_defaults,
    returnUrl: row.return_url,
    createdAtMs: row.created_at_ms,
    openedAtMs: row.opened_at_ms,
    untilMs: row.until_ms,
    changes: row.changes,
  };
}
