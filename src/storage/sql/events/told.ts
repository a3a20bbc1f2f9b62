import type { Patrolled, Told, ToldCredits, UntoldRefill } from '../../port/told.ts';
import { LINE_COLUMNS } from '../credits/creditWrites.ts';
import { placeholders, type SqlReader, type SqlWriter } from '../query/statement.ts';
import { type LineRow, toLine } from '../credits/statements.ts';

/** Rows that one step of pruning removes. */
const PRUNE_STEP = 1_000;

/** Accounts of credits have the kind 0. */
const STEP_OF_PATROL = `SELECT count(*) AS looked, max(id) AS last, min(kind) AS kind
  FROM (SELECT id, kind FROM accounts WHERE id > $1 ORDER BY id LIMIT $2) step`;

/**
 * `credits.exhausted` is only for balances spent to 0, not set to 0: then `base`, of the running line of the statement, is above 0. The
 * indexes keys_by_credits and identities_by_credits find the owners.
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

/** Over the index statement_lines_untold. */
const UNTOLD_REFILLS = `SELECT ${LINE_COLUMNS.map((name) => `l.${name}`).join(', ')},
    coalesce(k.id, i.id) AS owner, k.api_id, coalesce(ki.external_id, i.external_id) AS external_id,
    coalesce(k.plan_id, i.plan_id) AS plan_id
  FROM (SELECT * FROM statement_lines WHERE refilled > 0 AND told = 0 ORDER BY start_ms, account LIMIT $1) l
    LEFT JOIN keys k ON k.credits_account = l.account AND k.deleted_at_ms IS NULL
    LEFT JOIN identities ki ON ki.id = k.identity_id LEFT JOIN identities i ON i.credits_account = l.account
  ORDER BY l.start_ms, l.account`;

interface PatrolRow {
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

  async patrol(after: number, count: number): Promise<Patrolled> {
    // Once a round is enough: what is spent meanwhile is noticed by the node.
    if (after === 0) await this.#applyLog();
    const [step] = await this.#reader.find<PatrolRow>({ sql: STEP_OF_PATROL, params: [after, count] });
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
      SELECT owner, name, duration_ms FROM told_limits WHERE reset_at_ms <= $1 ORDER BY reset_at_ms LIMIT ${PRUNE_STEP})`;
    const [removed = 0] = (await this.#writer.write([{ sql, params: [endedBeforeMs], expects: null }])) ?? [];
    return removed < PRUNE_STEP;
  }
}
