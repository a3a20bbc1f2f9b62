import type { AccountState } from './account.ts';
import type { Booked } from './accountBook.ts';
import { MAX_COUNT } from './bounds.ts';
import { AppError } from './errors.ts';
import type { Pockets } from './expiringCredits.ts';
import { DAY_MS, type Movements, type StatementLine, joinedLine, dayStartOf } from './statement.ts';

/** What a row of a statement stands for: one UTC day, or one refill period. */
export const STATEMENT_SPANS = ['day', 'period'] as const;
export type StatementSpan = (typeof STATEMENT_SPANS)[number];

/** The columns of a statement as CSV, by the names of the fields in the API. */
export const STATEMENT_COLUMNS = [
  'keyId',
  'identityId',
  'externalId',
  'start',
  'end',
  'opening',
  'granted',
  'refilled',
  'adjusted',
  'spent',
  'expired',
  'closing',
  'held',
] as const;

/** Lines of one holder that lie in the same day or period. The equation of lines holds in every row. */
export interface StatementRow extends Movements {
  readonly startMs: number;
  /** null: the end of the period is not known. */
  readonly endMs: number | null;
  readonly opening: number;
  readonly closing: number;
  readonly held: number;
}

/** All lines of a row as one line. */
export interface JoinedLines {
  /** Where the first line begins. */
  readonly startMs: number;
  /** Where the last line begins. */
  readonly lastMs: number;
  readonly sum: StatementLine;
}

/** When the period of these lines ends. `nextMs`: where the lines of the next period begin; null = there are none. */
type PeriodEnd = (lines: JoinedLines, nextMs: number | null) => number | null;

const SUMS = ['granted', 'refilled', 'adjusted', 'spent', 'expired'] as const;

export function isExact(figures: Movements): boolean {
  return SUMS.every((each) => Number.isSafeInteger(figures[each]));
}

/** Many large movements can add up to more than a number holds. Such a sum is refused, not rounded. */
export function requireExact(holderId: string, startMs: number, figures: Movements): void {
  const name = SUMS.find((each) => !Number.isSafeInteger(figures[each]));
  if (name === undefined) return;
  const what = `The row of ${holderId} that begins at ${startMs} cannot be shown exactly`;
  const how = 'Ask for rows by day, or for a time without this row';
  throw new AppError('PRECONDITION_FAILED', `${what}: its sum of "${name}" is above ${MAX_COUNT}. ${how}.`);
}

/** Makes rows of lines, which come in the order of time. Days and periods without lines have no row. */
export class StatementRows {
  readonly #per: StatementSpan;
  readonly #endOf: PeriodEnd;
  #open: JoinedLines | null = null;

  constructor(per: StatementSpan, endOf: PeriodEnd) {
    this.#per = per;
    this.#endOf = endOf;
  }

  /** Where the open row begins, to which further lines may belong; null = none is open. */
  get openMs(): number | null {
    return this.#open === null ? null : this.#startOf(this.#open);
  }

  /** Answers the row that ends before this line; null = the line belongs to the row before, or is the first. */
  add(line: StatementLine): StatementRow | null {
    const open = this.#open;
    if (open !== null && this.#isSame(open.sum, line)) {
      this.#open = { startMs: open.startMs, lastMs: line.startMs, sum: joinedLine(open.sum, line) };
      return null;
    }
    this.#open = { startMs: line.startMs, lastMs: line.startMs, sum: line };
    return open === null ? null : this.#row(open, line.startMs);
  }

  /** The last row; null = there were no lines. */
  finish(): StatementRow | null {
    const open = this.#open;
    this.#open = null;
    return open === null ? null : this.#row(open, null);
  }

  #isSame(a: StatementLine, b: StatementLine): boolean {
    return this.#per === 'day' ? dayStartOf(a.startMs) === dayStartOf(b.startMs) : a.periodMs === b.periodMs;
  }

  #startOf({ startMs }: JoinedLines): number {
    return this.#per === 'day' ? dayStartOf(startMs) : startMs;
  }

  #row(lines: JoinedLines, nextMs: number | null): StatementRow {
    const startMs = this.#startOf(lines);
    const endMs = this.#per === 'day' ? startMs + DAY_MS : this.#endOf(lines, nextMs);
    const { periodMs: _periodMs, ...figures } = lines.sum;
    return { ...figures, startMs, endMs };
  }
}

/**
 * The account and its stored lines were read one after the other. They fit when nothing but spends happened in between: no later line has
 * begun, the running one is not closed, and it has all movements that the account has.
 */
export function fitsAccount(
  { base, segmentMs }: AccountState,
  pockets: Pockets | null,
  stored: readonly StatementLine[],
): boolean {
  const [line, ...later] = stored;
  if (line === undefined) return true;
  if (later.length > 0 || line.startMs !== segmentMs || line.spent > 0) return false;
  const { opening, granted, refilled, adjusted, expired } = line;
  return opening + granted + refilled + adjusted - expired === base + (pockets?.held ?? 0);
}

/** The lines of an account from its running one on, as they are at this instant: with what was spent, and with all that is due. */
export function runningLines(stored: readonly StatementLine[], { state, pockets, lines }: Booked): StatementLine[] {
  const running = [...stored];
  for (const line of lines) addTo(running, line);
  const { value, base, segmentMs, mark } = state;
  const held = pockets?.held ?? 0;
  if (base === value && held === 0 && running.at(-1)?.startMs !== segmentMs) return running;
  addTo(running, {
    startMs: segmentMs,
    periodMs: mark,
    opening: base + held,
    granted: 0,
    refilled: 0,
    adjusted: 0,
    spent: base - value,
    expired: 0,
    closing: value + held,
    held,
  });
  return running;
}

function addTo(lines: StatementLine[], line: StatementLine): void {
  const last = lines.at(-1);
  if (last?.startMs === line.startMs) lines.splice(-1, 1, joinedLine(last, line));
  else lines.push(line);
}
