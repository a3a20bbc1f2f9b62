import type { SessionRecord } from '../../core/records.ts';
import type { FoundSession } from '../port/records.ts';
import type { RecordWrite } from '../port/writes.ts';
import { toRootKey } from './query/recordRows.ts';
import { insert, placeholders, remove, type SqlReader, type WriteStatement } from './query/statement.ts';

interface SessionRow {
  id: string;
  digest: string;
  root_key_id: string;
  created_at_ms: number;
  used_at_ms: number;
  until_ms: number;
  origin: string | null;
  browser: string | null;
}

type SessionWrite = Extract<RecordWrite, { kind: 'insertSession' | 'useSession' | 'endSession' | 'endSessions' }>;

const FIND = `SELECT s.id AS session_id, s.digest, s.root_key_id, s.created_at_ms AS signed_in_at_ms, s.used_at_ms, s.until_ms,
  s.origin, s.browser, r.* FROM sessions s JOIN root_keys r ON r.id = s.root_key_id WHERE s.digest = $1`;

/** The session with this secret, and the root key that signed in. It may have ended. */
export async function findSession(reader: SqlReader, digest: string): Promise<FoundSession | null> {
  type Found = SessionRow & { session_id: string; signed_in_at_ms: number };
  const [row] = await reader.find<Found>({ sql: FIND, params: [digest] });
  if (row === undefined) return null;
  const session = toSession({ ...row, id: row.session_id, created_at_ms: row.signed_in_at_ms });
  return { session, rootKey: toRootKey(row) };
}

export async function findSessionById(reader: SqlReader, sessionId: string): Promise<SessionRecord | null> {
  const [row] = await reader.find<SessionRow>({ sql: 'SELECT * FROM sessions WHERE id = $1', params: [sessionId] });
  return row === undefined ? null : toSession(row);
}

/** The sessions of these root keys (null = of all) that have not ended, newest first; at most `limit`. */
export async function listSessions(
  reader: SqlReader,
  rootKeyIds: readonly string[] | null,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<SessionRecord[]> {
  if (rootKeyIds?.length === 0) return [];
  const ids = rootKeyIds ?? [];
  // Parameters are numbered in the order in which they appear in the text.
  const ofRootKeys = rootKeyIds === null ? '' : ` AND root_key_id IN (${placeholders(ids.length, 2)})`;
  const order = `ORDER BY created_at_ms DESC, id DESC LIMIT $${ids.length + 2}`;
  const sql = `SELECT * FROM sessions WHERE until_ms > $1${ofRootKeys} ${order}`;
  return (await reader.scan<SessionRow>({ sql, params: [nowMs, ...ids, limit] })).map(toSession);
}

export function sessionStatements(write: SessionWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertSession':
      return [
        holdRootKey(write.session.rootKeyId, write.expect),
        insert('sessions', sessionColumns(write.session)),
        removeOldest(write.session, write.most),
      ];
    case 'useSession':
      return [
        {
          sql: 'UPDATE sessions SET used_at_ms = $1, until_ms = $2 WHERE id = $3 AND used_at_ms < $1',
          params: [write.usedAtMs, write.untilMs, write.sessionId],
          expects: null,
        },
      ];
    case 'endSession':
      return [{ ...remove('sessions', { id: write.sessionId }), expects: null }];
    case 'endSessions':
      // Links to the customers' page that were made with its former secret end too.
      return [
        { ...remove('sessions', { root_key_id: write.rootKeyId }), expects: null },
        {
          sql: 'UPDATE portal_sessions SET until_ms = 0 WHERE root_key_id = $1',
          params: [write.rootKeyId],
          expects: null,
        },
      ];
  }
}

/** Runs while the root key is locked, so it sees every other session of that root key. */
function removeOldest({ rootKeyId, createdAtMs: nowMs }: SessionRecord, most: number): WriteStatement {
  const live = 'root_key_id = $1 AND until_ms > $2';
  return {
    sql: `DELETE FROM sessions WHERE ${live} AND id NOT IN (
      SELECT id FROM sessions WHERE ${live} ORDER BY created_at_ms DESC, id DESC LIMIT $3)`,
    params: [rootKeyId, nowMs, most],
    expects: null,
  };
}

/**
 * Changes nothing, but locks the row until the change is committed, and refuses the change if the root key has another secret by now or was
 * revoked.
 */
function holdRootKey(rootKeyId: string, secretDigest: string): WriteStatement {
  return {
    sql: 'UPDATE root_keys SET start = start WHERE id = $1 AND secret_digest = $2 AND revoked_at_ms IS NULL',
    params: [rootKeyId, secretDigest],
    expects: 1,
  };
}

function sessionColumns(session: SessionRecord): Record<keyof SessionRow, string | number | null> {
  return {
    id: session.id,
    digest: session.digest,
    root_key_id: session.rootKeyId,
    created_at_ms: session.createdAtMs,
    used_at_ms: session.usedAtMs,
    until_ms: session.untilMs,
    origin: session.origin,
    browser: session.browser,
  };
}

function toSession(row: SessionRow): SessionRecord {
  return {
    id: row.id,
    digest: row.digest,
    rootKeyId: row.root_key_id,
    createdAtMs: row.created_at_ms,
    usedAtMs: row.used_at_ms,
    untilMs: row.until_ms,
    origin: row.origin,
    browser: row.browser,
  };
}
