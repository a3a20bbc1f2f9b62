import { DAY_MS, dayStartOf } from '../../../core/statement.ts';
import type { StatementRow } from '../../../core/statementRows.ts';
import type { AccountLine } from '../../../storage/port/creditWrites.ts';
import type { Holder, LineCursor, LineSpan } from '../../../storage/port/statements.ts';
import type { Storage } from '../../../storage/port/storage.ts';
import { HolderRows, type RowQuery } from './holderRows.ts';
import { type OpenHolder, OpenHolders, type StatementContext } from './openHolders.ts';

/** Lines that are in memory at one time. */
const MAX_LINES = 5_000;

export interface HolderRow {
  readonly holder: Holder;
  readonly row: StatementRow;
}

/** Reads the statements of holders. */
export class StatementReader {
  readonly #storage: Storage;
  readonly #open: OpenHolders;

  constructor(context: StatementContext) {
    this.#storage = context.storage;
    this.#open = new OpenHolders(context);
  }

  /** The rows of holders, in their order and that of time, in parts. `afterMs`: only rows that begin after this instant. */
  async *read(holders: readonly Holder[], query: RowQuery, afterMs: number | null): AsyncGenerator<HolderRow[]> {
    const open = await this.#open.open(holders);
    yield* this.#readOpen(open, await this.#spans(open, query, afterMs), query, afterMs);
  }

  async *#readOpen(
    open: readonly OpenHolder[],
    spans: ReadonlyMap<number, number>,
    query: RowQuery,
    afterMs: number | null,
  ): AsyncGenerator<HolderRow[]> {
    const read = await this.#lines(open, spans, query, null, MAX_LINES + 1);
    const [first] = open;
    if (read.length <= MAX_LINES) yield rowsOf(open, read, query, afterMs);
    else if (open.length === 1 && first !== undefined) yield* this.#readLong(first, spans, query, afterMs);
    else {
      const half = Math.ceil(open.length / 2);
      yield* this.#readOpen(open.slice(0, half), spans, query, afterMs);
      yield* this.#readOpen(open.slice(half), spans, query, afterMs);
    }
  }

  /** One holder with many lines. */
  async *#readLong(
    of: OpenHolder,
    spans: ReadonlyMap<number, number>,
    query: RowQuery,
    afterMs: number | null,
  ): AsyncGenerator<HolderRow[]> {
    const rows = new HolderRows(of, query, afterMs);
    let after: LineCursor | null = null;
    do {
      const read: readonly AccountLine[] = await this.#lines([of], spans, query, after, MAX_LINES);
      yield withHolder(of, rows.add(read));
      const last = read.at(-1);
      after = last === undefined ? null : { account: last.account, startMs: last.line.startMs };
      if (read.length < MAX_LINES) break;
    } while (!rows.isPast);
    yield withHolder(of, rows.finish());
  }

  #lines(
    open: readonly OpenHolder[],
    fromOf: ReadonlyMap<number, number>,
    { per, endMs }: RowQuery,
    after: LineCursor | null,
    limit: number,
  ): Promise<readonly AccountLine[]> {
    const accounts = open.flatMap((each) => each.accounts);
    const spans = accounts.map((account): LineSpan => ({ account, fromMs: fromOf.get(account) ?? 0 }));
    // A period that begins before the end is wanted as a whole.
    const untilMs = endMs === null || per === 'period' ? null : dayStartOf(endMs - 1) + DAY_MS;
    return this.#storage.statements.lines({ spans, untilMs, after, limit });
  }

  /** From where each account is read, so that the first row is whole. */
  async #spans(
    open: readonly OpenHolder[],
    { per, startMs }: RowQuery,
    afterMs: number | null,
  ): Promise<ReadonlyMap<number, number>> {
    const accounts = open.flatMap((each) => each.accounts);
    const fromMs = afterMs ?? (per === 'day' ? dayStartOf(startMs ?? 0) : (startMs ?? 0));
    const spans = new Map(accounts.map((account) => [account, fromMs]));
    if (per === 'day' || afterMs !== null || startMs === null) return spans;
    for (const { account, periodMs } of await this.#storage.statements.periodsBefore(accounts, startMs)) {
      spans.set(account, Math.min(periodMs, startMs));
    }
    return spans;
  }
}

function rowsOf(
  open: readonly OpenHolder[],
  read: readonly AccountLine[],
  query: RowQuery,
  afterMs: number | null,
): HolderRow[] {
  const linesOf = Map.groupBy(read, ({ account }) => account);
  return open.flatMap((of) => {
    const rows = new HolderRows(of, query, afterMs);
    const lines = of.accounts.flatMap((account) => linesOf.get(account) ?? []);
    // Stable: at the same instant a former account comes before the one that runs.
    const sorted = lines.toSorted((a, b) => a.line.startMs - b.line.startMs);
    return withHolder(of, [...rows.add(sorted), ...rows.finish()]);
  });
}

function withHolder({ holder }: OpenHolder, rows: readonly StatementRow[]): HolderRow[] {
  return rows.map((row) => ({ holder, row }));
}
