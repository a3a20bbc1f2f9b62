import { MAX_COUNT } from '../../../core/bounds.ts';
import { METERED_ZERO } from '../../../core/accountBook.ts';
import { runningEpoch } from '../../../core/refillPlan.ts';
import { DAY_MS, dayStartOf, type StatementLine } from '../../../core/statement.ts';
import {
  type JoinedLines,
  requireExact,
  type StatementRow,
  StatementRows,
  type StatementSpan,
} from '../../../core/statementRows.ts';
import type { AccountLine } from '../../../storage/port/creditWrites.ts';
import type { OpenHolder } from './openHolders.ts';

/** Which rows are wanted: those that share an instant with the time from `startMs` to before `endMs`. */
export interface RowQuery {
  readonly per: StatementSpan;
  readonly startMs: number | null;
  readonly endMs: number | null;
}

/** A row, and whether it has lines of the account that the holder has now. */
export interface MadeRow {
  readonly row: StatementRow;
  readonly isPresent: boolean;
}

/** A position among the rows of a holder: after the row that begins then. */
export interface RowPosition {
  readonly startMs: number;
  readonly isPresent: boolean;
}

/**
 * Makes the rows of one holder from its lines, which come in the order of time. Those of the account that it has now come last, also when an
 * account before it was counted by a clock that ran ahead.
 */
export class HolderRows {
  readonly #of: OpenHolder;
  readonly #query: RowQuery;
  readonly #after: RowPosition | null;
  readonly #rows: StatementRows;
  /** The line before, and its account. */
  #last: { readonly account: number; readonly closing: number } | null = null;
  /** Of the row that is being made. */
  #isPresent = false;

  constructor(of: OpenHolder, query: RowQuery, after: RowPosition | null) {
    this.#of = of;
    this.#query = query;
    this.#after = after;
    this.#rows = new StatementRows(query.per, (lines, nextMs) => periodEnd(of, lines, nextMs));
  }

  /** No further line can be in a row that is wanted. */
  get isPast(): boolean {
    const { endMs } = this.#query;
    return endMs !== null && (this.#rows.openMs ?? 0) >= endMs;
  }

  add(read: readonly AccountLine[]): MadeRow[] {
    const { running } = this.#of;
    return read.flatMap(({ account, line }) => {
      // These were read together with the account.
      if (account === running?.account && line.startMs >= running.fromMs) return [];
      return this.#add(account, line);
    });
  }

  finish(): MadeRow[] {
    const { running } = this.#of;
    const before = running?.lines.flatMap((line) => this.#add(running.account, line)) ?? [];
    return [...before, ...this.#wanted(this.#rows.finish(), this.#isPresent)];
  }

  #add(account: number, line: StatementLine): MadeRow[] {
    const shown = this.#joined(account, this.#of.metered.has(account) ? withoutZero(line) : line);
    this.#last = { account, closing: shown.closing };
    const wasPresent = this.#isPresent;
    this.#isPresent = account === this.#of.running?.account;
    return this.#wanted(this.#rows.add(shown), wasPresent);
  }

  /** What was metered stays in the account that counted it. The next account begins without it: an adjustment of the holder. */
  #joined(account: number, line: StatementLine): StatementLine {
    const last = this.#last;
    if (last === null || last.account === account || last.closing === line.opening) return line;
    return { ...line, opening: last.closing, adjusted: line.adjusted + line.opening - last.closing };
  }

  #wanted(row: StatementRow | null, isPresent: boolean): MadeRow[] {
    if (row === null || !this.#isAfter(row, isPresent)) return [];
    const { startMs, endMs } = this.#query;
    if (endMs !== null && row.startMs >= endMs) return [];
    if (startMs !== null && row.endMs !== null && row.endMs <= startMs) return [];
    requireExact(this.#of.holder.id, row.startMs, row);
    return [{ row, isPresent }];
  }

  #isAfter({ startMs }: StatementRow, isPresent: boolean): boolean {
    if (this.#after === null) return true;
    return isPresent === this.#after.isPresent ? startMs > this.#after.startMs : isPresent;
  }
}

/** The balance of what is metered: what was used, as a negative number. */
function withoutZero(line: StatementLine): StatementLine {
  return { ...line, opening: line.opening - METERED_ZERO, closing: line.closing - METERED_ZERO };
}

/** The boundary that ends a period is known from the rules, if they are those of that time. Otherwise the next lines tell. */
function periodEnd({ rules, running }: OpenHolder, lines: JoinedLines, nextMs: number | null): number | null {
  const { startMs, lastMs, sum } = lines;
  if (nextMs === null && running !== null && sum.periodMs === running.markMs) return running.nextMs;
  const epoch = rules === null ? null : runningEpoch(rules, startMs);
  const boundaryMs = epoch?.startMs === sum.periodMs ? epoch.nextMs : MAX_COUNT;
  if (nextMs !== null) return Math.min(boundaryMs, nextMs);
  if (boundaryMs < MAX_COUNT) return boundaryMs;
  return running !== null && running.markMs > startMs ? running.markMs : dayStartOf(lastMs) + DAY_MS;
}
