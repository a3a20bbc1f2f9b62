import type { Statement } from 'bun:sqlite';

import type { Params, Statement as SqlStatement } from '../../sql/query/statement.ts';
import { LOG_COLUMNS } from '../../sql/analytics/countColumns.ts';
import { type CountSlice, LogRows } from '../../sql/analytics/packedCounts.ts';
import { foldStatements, logStatements } from '../../sql/analytics/fold.ts';

/**
 * Size of the rows of one step, about 30,000 rows without tags. Larger steps write fewer pages in total. But while a step runs, no counts
 * are appended, and a crash would lose the waiting ones.
 */
const MAX_STEP = 2_000_000;

const SLICES = 'SELECT number, body FROM count_slices ORDER BY number';
const LOG = `SELECT number, ${LOG_COLUMNS.join(', ')} FROM verdict_log ORDER BY number`;

/** The connection that writes. */
export interface Connection {
  readonly statement: (sql: string) => Statement<unknown, Params>;
  readonly transaction: (work: () => void) => void;
}

/** Makes rows of the log from the oldest slices, one for each subject and minute. True when no slice is left. */
export function unpackSlices({ statement, transaction }: Connection, maxSize = MAX_STEP): boolean {
  let isAll = true;
  transaction(() => {
    const step = new Step(statement, maxSize);
    step.takeSlices();
    step.run(logStatements(step.rows));
    isAll = step.isAll;
  });
  return isAll;
}

/** Adds the oldest rows and slices to the sums; see Analytics.fold. */
export function foldCounts({ statement, transaction }: Connection, maxSize = MAX_STEP): boolean {
  let isAll = true;
  transaction(() => {
    const step = new Step(statement, maxSize);
    // Rows of the log are older than the slices.
    step.takeLog();
    step.takeSlices();
    step.run(foldStatements(step.rows));
    isAll = step.isAll;
  });
  return isAll;
}

/** What one transaction takes from the log, oldest first, until it has enough. */
class Step {
  readonly rows = new LogRows();
  readonly #statement: Connection['statement'];
  readonly #maxSize: number;
  isAll = true;

  constructor(statement: Connection['statement'], maxSize: number) {
    this.#statement = statement;
    this.#maxSize = maxSize;
  }

  takeLog(): void {
    let upTo = 0;
    for (const row of this.#statement(LOG).iterate() as IterableIterator<Record<string, string | number>>) {
      if (this.#hasEnough()) break;
      this.rows.addRow(row);
      upTo = Number(row['number']);
    }
    this.#statement('DELETE FROM verdict_log WHERE number <= $1').run(upTo);
  }

  takeSlices(): void {
    let upTo = 0;
    for (const slice of this.#statement(SLICES).iterate() as IterableIterator<{ number: number; body: string }>) {
      if (this.#hasEnough()) break;
      this.rows.addSlice(JSON.parse(slice.body) as CountSlice);
      upTo = slice.number;
    }
    this.#statement('DELETE FROM count_slices WHERE number <= $1').run(upTo);
  }

  run(statements: Iterable<SqlStatement>): void {
    for (const { sql, params } of statements) this.#statement(sql).run(...params);
  }

  #hasEnough(): boolean {
    if (this.rows.size >= this.#maxSize) this.isAll = false;
    return !this.isAll;
  }
}
