import { MAX_COUNT } from '../../core/bounds.ts';
import type { CreditCall, CreditsRecord } from '../../core/records.ts';
import { readCredits, readPlanMove } from '../../model/columnsOfFields.ts';
import type { AccountLine, ClosedAccount, Holder, HolderQuery, LineQuery, Statements } from '../port/credits.ts';
import { type CreditCallRow, FIND_CREDIT_CALL, LINE_COLUMNS, toCreditCall } from './creditWrites.ts';
import { IS_LIVE } from './query/queries.ts';
import { placeholders, type SqlReader, type SqlWriter, type Statement } from './query/statement.ts';

/** Lines that one step of pruning removes. */
const PRUNE_STEP = 1_000;

export interface LineRow {
  readonly account: number;
  readonly start_ms: number;
  readonly period_ms: number;
  readonly opening: number;
  readonly granted: number;
  readonly refilled: number;
  readonly adjusted: number;
  readonly spent: number;
  readonly expired: number;
  readonly closing: number;
  readonly held: number;
}

interface ClosedRow extends Omit<ClosedAccount, 'metered'> {
  readonly metered: number;
}

export class SqlStatements implements Statements {
  readonly #reader: SqlReader;
  readonly #writer: SqlWriter;

  constructor(reader: SqlReader, writer: SqlWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  async lines({ spans, untilMs, after, limit }: LineQuery): Promise<readonly AccountLine[]> {
    if (spans.length === 0) return [];
    const { account, startMs } = after ?? { account: 0, startMs: 0 };
    const columns = LINE_COLUMNS.map((name) => `l.${name}`).join(', ');
    const [until, afterMs, afterAccount, most] = [1, 2, 3, 4].map((i) => `$${spans.length * 2 + i}`);
    // The primary key finds the lines of each account.
    const sql = `WITH spans (account, from_ms) AS (VALUES ${integers(spans.length, 2)})
      SELECT ${columns} FROM spans JOIN statement_lines l ON l.account = spans.account AND l.start_ms >= spans.from_ms
      WHERE l.start_ms < ${until} AND (l.start_ms > ${afterMs} OR (l.start_ms = ${afterMs} AND l.account > ${afterAccount}))
      ORDER BY l.start_ms, l.account LIMIT ${most}`;
    const params = spans.flatMap((span) => [span.account, span.fromMs]);
    params.push(untilMs ?? MAX_COUNT, startMs, account, limit);
    return (await this.#reader.scan<LineRow>({ sql, params })).map(toLine);
  }

  async periodsBefore(
    accounts: readonly number[],
    atMs: number,
  ): Promise<readonly { account: number; periodMs: number }[]> {
    if (accounts.length === 0) return [];
    const sql = `WITH asked (account) AS (VALUES ${integers(accounts.length, 1)})
      SELECT account, (SELECT l.period_ms FROM statement_lines l
        WHERE l.account = asked.account AND l.start_ms < $${accounts.length + 1} ORDER BY l.start_ms DESC LIMIT 1) AS period_ms FROM asked`;
    const rows = await this.#reader.scan<{ account: number; period_ms: number | null }>({
      sql,
      params: [...accounts, atMs],
    });
    return rows.flatMap(({ account, period_ms: periodMs }) => (periodMs === null ? [] : [{ account, periodMs }]));
  }

  async closedAccountsOf(owners: readonly string[]): Promise<readonly ClosedAccount[]> {
    if (owners.length === 0) return [];
    const sql = `SELECT owner, account, metered FROM closed_accounts WHERE owner IN (${placeholders(owners.length)}) ORDER BY owner, account`;
    const rows = await this.#reader.find<ClosedRow>({ sql, params: [...owners] });
    return rows.map(({ metered, ...row }) => ({ ...row, metered: metered !== 0 }));
  }

  findHolders(ids: readonly string[]): Promise<readonly Holder[]> {
    return findHolders(this.#reader, ids);
  }

  listHolders(query: HolderQuery): Promise<readonly Holder[]> {
    return listHolders(this.#reader, query);
  }

  async findCreditCall(owner: string, idempotencyId: string): Promise<CreditCall | null> {
    const rows = await this.#reader.find<CreditCallRow>({ sql: FIND_CREDIT_CALL, params: [owner, idempotencyId] });
    return rows.map(toCreditCall)[0] ?? null;
  }

  async prune(beganBeforeMs: number, calledBeforeMs: number): Promise<boolean> {
    const step = `FROM statement_lines WHERE start_ms < $1 ORDER BY start_ms LIMIT ${PRUNE_STEP}`;
    // The owner of an account is forgotten with its last lines.
    const accounts = `DELETE FROM closed_accounts WHERE account IN (SELECT account ${step}) AND NOT EXISTS (
      SELECT 1 FROM statement_lines l WHERE l.account = closed_accounts.account AND l.start_ms >= $1)`;
    const lines = `DELETE FROM statement_lines WHERE (account, start_ms) IN (SELECT account, start_ms ${step})`;
    const calls = `DELETE FROM credit_calls WHERE id IN (
      SELECT id FROM credit_calls WHERE at_ms < $1 ORDER BY at_ms LIMIT ${PRUNE_STEP})`;
    const statements = [
      { sql: accounts, params: [beganBeforeMs], expects: null },
      { sql: lines, params: [beganBeforeMs], expects: null },
      { sql: calls, params: [calledBeforeMs], expects: null },
    ];
    return ((await this.#writer.write(statements)) ?? []).every((rows) => rows < PRUNE_STEP);
  }
}

/** Rows of whole numbers for VALUES. PostgreSQL would treat parameters as texts. */
function integers(rows: number, columns: number): string {
  const row = (i: number): string =>
    Array.from({ length: columns }, (_, j) => `CAST($${i * columns + j + 1} AS bigint)`).join(', ');
  return Array.from({ length: rows }, (_, i) => `(${row(i)})`).join(', ');
}

export function toLine({ account, start_ms: startMs, period_ms: periodMs, ...figures }: LineRow): AccountLine {
  return { account, line: { startMs, periodMs, ...figures } };
}

interface HolderRow {
  readonly id: string;
  readonly api_id: string | null;
  readonly external_id: string | null;
  readonly credits: string | null;
  readonly credits_account: number | null;
  readonly plan_id: string | null;
  readonly plan_move: string | null;
  readonly is_deleted: number;
}

const KEYS = `SELECT k.id, k.api_id, NULL AS external_id, k.credits, k.credits_account, k.plan_id, k.plan_move,
    CASE WHEN ${IS_LIVE} AND a.deleted_at_ms IS NULL THEN 0 ELSE 1 END AS is_deleted
  FROM keys k LEFT JOIN apis a ON a.id = k.api_id`;
const IDENTITIES = `SELECT i.id, NULL AS api_id, i.external_id, i.credits, i.credits_account, i.plan_id, i.plan_move, 0 AS is_deleted
  FROM identities i`;
/** Holders of whom only closed accounts are left. */
const GONE = `SELECT c.owner AS id, NULL AS api_id, NULL AS external_id, NULL AS credits, CAST(NULL AS bigint) AS credits_account,
    NULL AS plan_id, NULL AS plan_move, 1 AS is_deleted
  FROM (SELECT DISTINCT owner FROM closed_accounts) c`;

const HAD_CREDITS = (row: string): string =>
  `(${row}.credits_account IS NOT NULL OR EXISTS (SELECT 1 FROM closed_accounts c WHERE c.owner = ${row}.id))`;
const IS_GONE = `NOT EXISTS (SELECT 1 FROM keys k WHERE k.id = c.owner)
  AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.id = c.owner)`;

async function findHolders(reader: SqlReader, ids: readonly string[]): Promise<readonly Holder[]> {
  if (ids.length === 0) return [];
  const list = placeholders(ids.length);
  const sql = `${KEYS} WHERE k.id IN (${list}) AND ${HAD_CREDITS('k')}
    UNION ALL ${IDENTITIES} WHERE i.id IN (${list}) AND ${HAD_CREDITS('i')}
    UNION ALL ${GONE} WHERE c.owner IN (${list}) AND ${IS_GONE} ORDER BY id`;
  return (await reader.find<HolderRow>({ sql, params: [...ids] })).map(toHolder);
}

async function listHolders(reader: SqlReader, query: HolderQuery): Promise<readonly Holder[]> {
  return (await reader.scan<HolderRow>(query.planId === null ? ofAll(query) : ofPlan(query.planId, query))).map(
    toHolder,
  );
}

/** Uses the indexes identities_of_plan and keys_of_plan. */
function ofPlan(planId: string, { after, limit }: HolderQuery): Statement {
  const sql = firstOf([
    `${IDENTITIES} WHERE i.plan_id = $1 AND i.id > $2 AND ${HAD_CREDITS('i')} ORDER BY i.id LIMIT $3`,
    `${KEYS} WHERE k.plan_id = $1 AND k.id > $2 AND ${IS_LIVE} AND ${HAD_CREDITS('k')} ORDER BY k.id LIMIT $3`,
  ]);
  return { sql: `${sql} LIMIT $3`, params: [planId, after ?? '', limit] };
}

/** Each part follows an index in the order of ids. So the database reads only the rows that it returns, and those without credits. */
function ofAll({ after, limit }: HolderQuery): Statement {
  const part = (select: string, id: string, condition: string): string =>
    `${select} WHERE ${id} > $1 AND ${condition} ORDER BY ${id} LIMIT $2`;
  const sql = firstOf([
    part(KEYS, 'k.id', HAD_CREDITS('k')),
    part(IDENTITIES, 'i.id', HAD_CREDITS('i')),
    part(GONE, 'c.owner', IS_GONE),
  ]);
  return { sql: `${sql} LIMIT $2`, params: [after ?? '', limit] };
}

function firstOf(parts: readonly string[]): string {
  return `${parts.map((part) => `SELECT * FROM (${part}) AS part`).join(' UNION ALL ')} ORDER BY id`;
}

function toHolder(row: HolderRow): Holder {
  return {
    id: row.id,
    apiId: row.api_id,
    externalId: row.external_id,
    credits: creditsOf(row),
    planId: row.plan_id,
    movesAtMs: readPlanMove(row.plan_move)?.atMs ?? null,
    isDeleted: row.is_deleted === 1,
  };
}

/** An unreadable rule must hide neither what was used nor the statements of others. */
function creditsOf({ credits, credits_account: account }: HolderRow): CreditsRecord | null {
  try {
    return readCredits(credits);
  } catch {
    return account === null ? null : { account, refill: null };
  }
}
