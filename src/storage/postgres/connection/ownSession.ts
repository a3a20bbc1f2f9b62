import type { Client, QueryConfig } from 'pg';
import { WrongServer } from './wrongServer.ts';

export async function ended(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch {
    // The caller of the query gets the error.
  }
}

/**
 * A pooler in transaction mode lends a connection another session of the database for each transaction. That session lacks the settings of
 * the connection: a commit may be reported before it is on disk, and rows may be locked in another order.
 *
 * So every connection marks its session with a token. Each statement that writes, or that asks whether the node is fresh, carries that
 * token. A session with another token, or with none, refuses it (`IS_OWN_SESSION`). A start checks this several times over connections that
 * take turns, because the first answer alone could come from the right session by luck.
 */
const TOKENS = new WeakMap<Client, string>();

/** The SQLSTATE of the refusal. */
export const FOREIGN_SESSION = 'KS003';

/** A function of the database. It is never edited after its release, because older nodes still call it. */
export const IS_OWN_SESSION = 'ledger_is_own_session_v1';

/**
 * Returns true, or fails. It also checks the setting that makes commits wait: behind the same pooler, another program may have changed it
 * in a session with the right token.
 */
export const OWN_SESSION_FUNCTION = `
CREATE FUNCTION ${IS_OWN_SESSION}(session text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF current_setting('keystile.session', true) IS DISTINCT FROM session
    OR current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    RAISE EXCEPTION 'this is not the session that the node has opened: a pooler in transaction mode is in between'
      USING ERRCODE = '${FOREIGN_SESSION}';
  END IF;
  RETURN true;
END $$;`;

/** PgBouncer does not begin a transaction in statement mode. It is not translated. */
const NO_TRANSACTIONS = /pooling mode/i;

export const POOLED =
  'A pooler in transaction or statement mode is between this node and the database: what one connection sends runs in several sessions, where a commit may be reported before it is on disk. ' +
  'Let KEYSTILE_DATABASE_URL name PostgreSQL itself, or set pool_mode = session in the pooler.';

/** The session of the database is not that of the connection. */
export class ForeignSession extends WrongServer {
  constructor() {
    super(POOLED);
  }
}

/** Part of the first statement of a connection: marks its session. The token is unique but not secret. */
export const MARK_SESSION = `set_config('keystile.session',
  concat_ws('.', pg_backend_pid(), extract(epoch FROM clock_timestamp()), random()), false) AS session`;

export function markSession(client: Client, token: string): void {
  TOKENS.set(client, token);
}

/** The token of the session that the connection has marked; null = it has marked none. */
export function sessionOf(client: Client): string | null {
  return TOKENS.get(client) ?? null;
}

/** The same query with the token. If it begins a transaction, it fails in a foreign session. */
export function inOwnSession(client: Client, query: QueryConfig): QueryConfig {
  if (!query.text.startsWith('BEGIN')) return query;
  const ask = `SELECT ${IS_OWN_SESSION}(${literalOf(client)})`;
  return { ...query, text: query.text.replace(/^BEGIN[^;]*/, (begin) => `${begin}; ${ask}`) };
}

/** Tokens consist of digits, signs and letters. */
function literalOf(client: Client): string {
  const session = sessionOf(client);
  return session === null ? 'NULL' : `'${session}'`;
}

/** Begins a transaction, even if the tables have another version or do not exist yet. */
export async function beginInOwnSession(client: Client, begin: string): Promise<void> {
  await client.query(begin);
  await requireOwnSession(client);
}

/**
 * Refuses a connection that is not always in its own session. A pooler lends either the session that was returned last or the one that has
 * waited longest. In both cases, one of these questions meets the session of the other connection, which `connect` opens.
 */
export async function requireOwnSessions(client: Client, connect: () => Promise<Client>): Promise<void> {
  const other = await connect();
  try {
    const both = [client, other];
    for (const each of both) await requireOwnSession(each);
    for (const order of [both, both.toReversed()]) {
      for (const each of order) await beginInOwnSession(each, 'BEGIN');
      for (const each of order) await each.query('COMMIT');
      for (const each of both) await requireOwnSession(each);
    }
  } catch (error) {
    throw error instanceof Error && NO_TRANSACTIONS.test(error.message) ? new ForeignSession() : error;
  } finally {
    await other.end().catch(() => {});
  }
}

async function requireOwnSession(client: Client): Promise<void> {
  const own = `current_setting('keystile.session', true) IS NOT DISTINCT FROM ${literalOf(client)}`;
  const { rows } = await client.query<{ own: boolean }>(`SELECT ${own} AS own`);
  if (rows[0]?.own !== true) throw new ForeignSession();
}
