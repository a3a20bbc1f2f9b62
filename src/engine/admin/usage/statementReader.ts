import { DAY_MS, dayStartOf } from '../../../core/statement.ts';
import type { AccountLine } from '../../../storage/port/creditWrites.ts';
import type { Holder, LineCursor, LineSpan } from '../../../storage/port/statements.ts';
import type { Storage } from '../../../storage/port/storage.ts';
import { HolderRows, type MadeRow, type RowPosition, type RowQuery } from './holderRows.ts';
import { type OpenHolder, OpenHolders, type StatementContext } from './openHolders.ts';

/** Lines that are in memory at one time. */
const MAX_LINES = 5_000;

export interface HolderRow extends MadeRow {
  readonly holder: Holder;
}

/** Reads the statements of holders. */
export class StatementReader {
  readonly #storage: Storage;
  readonly #open: OpenHolders;

  constructor(context: StatementContext) {
    this.#storage = context.storage;
    this.#open = new OpenHolders(context);
  }

  /** The rows of holders, in their order and that of time, in parts. `after`: only rows after this one. */
  async *read(holders: readonly Holder[], query: RowQuery, after: RowPosition | null): AsyncGenerator<HolderRow[]> {
    const open = await this.#open.open(holders);
    yield* this.#readOpen(open, await this.#spans(open, query, after), query, after);
  }

  async *#readOpen(
    open: readonly OpenHolder[],
    spans: ReadonlyMap<number, number>,
    query: RowQuery,
    after: RowPosition | null,
  ): AsyncGenerator<HolderRow[]> {
    const accounts = open.flatMap((each) => each.accounts);
    const read = await this.#lines(accounts, spans, query, null, MAX_LINES + 1);
    const [first] = open;
    if (read.length <= MAX_LINES) yield rowsOf(open, read, query, after);
    else if (open.length === 1 && first !== undefined) yield* this.#readLong(first, spans, query, after);
    else {
      const half = Math.ceil(open.length / 2);
      yield* this.#readOpen(open.slice(0, half), spans, query, after);
      yield* this.#readOpen(open.slice(half), spans, query, after);
    }
  }

  /** One holder with many lines. */
  async *#readLong(
    of: OpenHolder,
    spans: ReadonlyMap<number, number>,
    query: RowQuery,
    after: RowPosition | null,
  ): AsyncGenerator<HolderRow[]> {
    const rows = new HolderRows(of, query, after);
    for (const accounts of [formerOf(of), presentOf(of)].filter((some) => some.length > 0)) {
      let position: LineCursor | null = null;
      do {
        const read: readonly AccountLine[] = await this.#lines(accounts, spans, query, position, MAX_LINES);
        yield withHolder(of, rows.add(read));
        const last = read.at(-1);
        position = last === undefined ? null : { account: last.account, startMs: last.line.startMs };
        if (read.length < MAX_LINES) break;
      } while (!rows.isPast);
    }
    yield withHolder(of, rows.finish());
  }

  #lines(
    accounts: readonly number[],
    fromOf: ReadonlyMap<number, number>,
    { per, endMs }: RowQuery,
    after: LineCursor | null,
    limit: number,
  ): Promise<readonly AccountLine[]> {
    const spans = accounts.map((account): LineSpan => ({ account, fromMs: fromOf.get(account) ?? 0 }));
    // A period that begins before the end is wanted as a whole.
    const untilMs = endMs === null || per === 'period' ? null : dayStartOf(endMs - 1) + DAY_MS;
    return this.#storage.statements.lines({ spans, untilMs, after, limit });
  }

  /** From where each account is read, so that the first row is whole. */
  async #spans(
    open: readonly OpenHolder[],
    { per, startMs }: RowQuery,
    after: RowPosition | null,
  ): Promise<ReadonlyMap<number, number>> {
    const wanted = per === 'day' ? dayStartOf(startMs ?? 0) : (startMs ?? 0);
    const spans = new Map<number, number>();
    for (const of of open) {
      for (const account of formerOf(of)) spans.set(account, after?.startMs ?? wanted);
      // After a row of a former account, all lines of the present one are still to come, whatever their time.
      const isBegun = after === null || after.isPresent;
      for (const account of presentOf(of)) spans.set(account, isBegun ? (after?.startMs ?? wanted) : wanted);
    }
    if (per === 'day' || startMs === null) return spans;
    const whole = [...spans].flatMap(([account, fromMs]) => (fromMs === wanted ? account : []));
    for (const { account, periodMs } of await this.#storage.statements.periodsBefore(whole, startMs)) {
      spans.set(account, Math.min(periodMs, startMs));
    }
    return spans;
  }
}

function rowsOf(
  open: readonly OpenHolder[],
  read: readonly AccountLine[],
  query: RowQuery,
  after: RowPosition | null,
): HolderRow[] {
  const linesOf = Map.groupBy(read, ({ account }) => account);
  return open.flatMap((of) => {
    const rows = new HolderRows(of, query, after);
    const former = formerOf(of).flatMap((account) => linesOf.get(account) ?? []);
    const present = presentOf(of).flatMap((account) => linesOf.get(account) ?? []);
    const sorted = [...former.toSorted((a, b) => a.line.startMs - b.line.startMs), ...present];
    return withHolder(of, [...rows.add(sorted), ...rows.finish()]);
  });
}

function presentOf({ running }: OpenHolder): readonly number[] {
  return running === null ? [] : [running.account];
}

/** They were closed before the present one was opened, whatever their clock said. */
function formerOf({ accounts, running }: OpenHolder): readonly number[] {
  return accounts.filter((account) => account !== running?.account);
}

function withHolder({ holder }: OpenHolder, rows: readonly MadeRow[]): HolderRow[] {
  return rows.map((made) => ({ holder, ...made }));
}
