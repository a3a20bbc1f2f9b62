import type { CreditCall } from '../../../core/records.ts';
import type { AccountLine, ClosedAccount } from '../../port/creditWrites.ts';
import { MAX_COUNT } from '../../../core/bounds.ts';
import type { Holder, HolderQuery, LineQuery, Statements } from '../../port/statements.ts';
import { type CreditCallRow, FIND_CREDIT_CALL, toCreditCall } from './creditCalls.ts';
import { LINE_COLUMNS } from './creditWrites.ts';
import { findHolders, listHolders } from '../holders/holders.ts';
import { placeholders, type SqlReader, type SqlWriter } from '../query/statement.ts';

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
    // Who had an account is forgotten with its last lines.
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

/** Rows of whole numbers for VALUES. PostgreSQL would take parameters for texts. */
function integers(rows: number, columns: number): string {
  const row = (i: number): string =>
    Array.from({ length: columns }, (_, j) => `CAST($${i * columns + j + 1} AS bigint)`).join(', ');
  return Array.from({ length: rows }, (_, i) => `(${row(i)})`).join(', ');
}

export function toLine({ account, start_ms: startMs, period_ms: periodMs, ...figures }: LineRow): AccountLine {
  return { account, line: { startMs, periodMs, ...figures } };
}
