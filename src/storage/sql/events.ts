import type {
  EventQuery,
  Events,
  RecheckedCredits,
  StoredEvent,
  Told,
  ToldCredits,
  UntoldRefill,
} from '../port/events.ts';
import type { RecordWrite } from '../port/writes.ts';
import { LINE_COLUMNS } from './creditWrites.ts';
import {
  insert,
  type Params,
  placeholders,
  type SqlReader,
  type SqlWriter,
  type WriteStatement,
} from './query/statement.ts';
import { type LineRow, toLine } from './statements.ts';

/** Events that one step of pruning removes. */
const PRUNE_STEP = 1_000;

interface EventRow {
  readonly sequence: number;
  readonly id: string;
  readonly type: string;
  readonly at_ms: number;
  readonly data: string;
}

/** Reads and prunes the events of both engines. Changes write them. */
export class SqlEvents implements Events {
  readonly #reader: SqlReader;
  readonly #writer: SqlWriter;

  constructor(reader: SqlReader, writer: SqlWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  /** By the primary key, or for types by the index events_by_type. */
  async list({ after, types, limit }: EventQuery): Promise<readonly StoredEvent[]> {
    if (types?.length === 0) return [];
    const params: Params = [after, ...(types ?? [])];
    const ofTypes = types === null ? '' : `AND type IN (${placeholders(types.length, 2)})`;
    const sql = `SELECT sequence, id, type, at_ms, data FROM events WHERE sequence > $1 ${ofTypes}
      ORDER BY sequence LIMIT $${params.push(limit)}`;
    return (await this.#reader.scan<EventRow>({ sql, params })).map(toEvent);
  }

  async find(eventId: string): Promise<StoredEvent | null> {
    const sql = 'SELECT sequence, id, type, at_ms, data FROM events WHERE id = $1';
    return (await this.#reader.find<EventRow>({ sql, params: [eventId] })).map(toEvent)[0] ?? null;
  }

  async last(): Promise<number> {
    const sql = 'SELECT sequence FROM events ORDER BY sequence DESC LIMIT 1';
    return (await this.#reader.find<{ sequence: number }>({ sql, params: [] }))[0]?.sequence ?? 0;
  }

  async prune(untilMs: number): Promise<boolean> {
    const sql = `DELETE FROM events WHERE sequence IN (
      SELECT sequence FROM events e WHERE at_ms <= $1
        AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.sequence = e.sequence AND d.state = 0)
      ORDER BY at_ms LIMIT ${PRUNE_STEP})`;
    const [removed = 0] = (await this.#writer.write([{ sql, params: [untilMs], expects: null }])) ?? [];
    return removed < PRUNE_STEP;
  }
}

function toEvent({ sequence, id, type, at_ms, data }: EventRow): StoredEvent {
  return { sequence, id, type, atMs: at_ms, data };
}

/** Rows that one step of pruning removes. */
const TOLD_PRUNE_STEP = 1_000;

/** Accounts of credits have the kind 0. */
const RECHECK_STEP_SQL = `SELECT count(*) AS looked, max(id) AS last, min(kind) AS kind
  FROM (SELECT id, kind FROM accounts WHERE id > $1 ORDER BY id LIMIT $2) step`;

/**
 * `credits.exhausted` is only for balances that were spent to 0, not set to 0: only then is the `base` of the running line of the statement
 * above 0. The indexes keys_by_credits and identities_by_credits find the owners.
 */
const UNTOLD_CREDITS = `SELECT owner FROM (
    SELECT a.id, a.value, a.base, coalesce(k.id, i.id) AS owner,
      coalesce(k.credits_below, i.credits_below, p.credits_below, 0) AS below
    FROM accounts a LEFT JOIN keys k ON k.credits_account = a.id AND k.deleted_at_ms IS NULL
      LEFT JOIN identities i ON i.credits_account = a.id LEFT JOIN plans p ON p.id = coalesce(k.plan_id, i.plan_id)
    WHERE a.id > $1 AND a.id <= $2 AND a.kind = 0) held
  WHERE owner IS NOT NULL AND (
    (value = 0 AND base > 0 AND NOT EXISTS (
      SELECT 1 FROM told_credits t WHERE t.account = held.id AND t.type = 'credits.exhausted' AND t.below = 1))
    OR (value < below AND NOT EXISTS (
      SELECT 1 FROM told_credits t WHERE t.account = held.id AND t.type = 'credits.low' AND t.below = held.below)))
  ORDER BY id`;

/** Uses the index statement_lines_untold. */
const UNTOLD_REFILLS = `SELECT ${LINE_COLUMNS.map((name) => `l.${name}`).join(', ')},
    coalesce(k.id, i.id) AS owner, k.api_id, coalesce(ki.external_id, i.external_id) AS external_id,
    coalesce(k.plan_id, i.plan_id) AS plan_id
  FROM (SELECT * FROM statement_lines WHERE refilled > 0 AND told = 0 ORDER BY start_ms, account LIMIT $1) l
    LEFT JOIN keys k ON k.credits_account = l.account AND k.deleted_at_ms IS NULL
    LEFT JOIN identities ki ON ki.id = k.identity_id LEFT JOIN identities i ON i.credits_account = l.account
  ORDER BY l.start_ms, l.account`;

interface RecheckedRow {
  readonly looked: number;
  readonly last: number | null;
  readonly kind: number | null;
}

interface RefillRow extends LineRow {
  readonly owner: string | null;
  readonly api_id: string | null;
  readonly external_id: string | null;
  readonly plan_id: string | null;
}

export class SqlTold implements Told {
  readonly #reader: SqlReader;
  readonly #writer: SqlWriter;
  readonly #applyLog: () => Promise<void>;

  /** `applyLog`: brings the accounts table up to date. */
  constructor(reader: SqlReader, writer: SqlWriter, applyLog: () => Promise<void> = async () => {}) {
    this.#reader = reader;
    this.#writer = writer;
    this.#applyLog = applyLog;
  }

  async credits(accounts: readonly number[]): Promise<readonly ToldCredits[]> {
    if (accounts.length === 0) return [];
    const sql = `SELECT account, type, below FROM told_credits WHERE account IN (${placeholders(accounts.length)})`;
    return this.#reader.find({ sql, params: [...accounts] });
  }

  async recheck(after: number, count: number): Promise<RecheckedCredits> {
    // Once a round is enough: the node itself notices what is spent meanwhile.
    if (after === 0) await this.#applyLog();
    const [step] = await this.#reader.find<RecheckedRow>({ sql: RECHECK_STEP_SQL, params: [after, count] });
    if (step === undefined || step.last === null) return { owners: [], last: null };
    const untold = { sql: UNTOLD_CREDITS, params: [after, step.last] };
    const rows = step.kind === 0 ? await this.#reader.scan<{ owner: string }>(untold) : [];
    return { owners: rows.map(({ owner }) => owner), last: step.looked < count ? null : step.last };
  }

  async untoldRefills(limit: number): Promise<readonly UntoldRefill[]> {
    const some = 'SELECT 1 FROM statement_lines WHERE refilled > 0 AND told = 0 LIMIT 1';
    if ((await this.#reader.find({ sql: some, params: [] })).length === 0) return [];
    const rows = await this.#reader.scan<RefillRow>({ sql: UNTOLD_REFILLS, params: [limit] });
    return rows.map(({ owner, api_id: apiId, external_id: externalId, plan_id: planId, ...line }) => {
      return { ...toLine(line), owner, apiId, externalId, planId };
    });
  }

  async pruneLimits(endedBeforeMs: number): Promise<boolean> {
    const sql = `DELETE FROM told_limits WHERE (owner, name, duration_ms) IN (
      SELECT owner, name, duration_ms FROM told_limits WHERE reset_at_ms <= $1 ORDER BY reset_at_ms LIMIT ${TOLD_PRUNE_STEP})`;
    const [removed = 0] = (await this.#writer.write([{ sql, params: [endedBeforeMs], expects: null }])) ?? [];
    return removed < TOLD_PRUNE_STEP;
  }
}

type ToldWrite = Extract<RecordWrite, { kind: 'tellCredits' | 'tellRefills' | 'tellLimit' }>;

/** Each is refused if another node has already told of the same. */
export function toldStatement(write: ToldWrite): WriteStatement {
  switch (write.kind) {
    case 'tellCredits': {
      const { account, type, below } = write;
      const { sql, params } = insert('told_credits', { account, type, below });
      return { sql: `${sql} ON CONFLICT DO NOTHING`, params, expects: 1 };
    }
    case 'tellRefills': {
      // The casts are needed because PostgreSQL treats a parameter in VALUES as text.
      const rows = write.lines.map((_, i) => `(CAST($${i * 2 + 1} AS bigint), CAST($${i * 2 + 2} AS bigint))`);
      const sql = `UPDATE statement_lines SET told = 1 WHERE told = 0 AND (account, start_ms) IN (VALUES ${rows.join(', ')})`;
      const params = write.lines.flatMap(({ account, startMs }) => [account, startMs]);
      return { sql, params, expects: write.lines.length };
    }
    case 'tellLimit': {
      const { owner, name, durationMs, resetAtMs } = write;
      const row = { owner, name, duration_ms: durationMs, reset_at_ms: resetAtMs };
      const { sql, params } = insert('told_limits', row);
      const later =
        'DO UPDATE SET reset_at_ms = excluded.reset_at_ms WHERE told_limits.reset_at_ms < excluded.reset_at_ms';
      return { sql: `${sql} ON CONFLICT (owner, name, duration_ms) ${later}`, params, expects: 1 };
    }
  }
}
