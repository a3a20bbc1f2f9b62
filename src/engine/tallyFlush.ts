import type { Records } from '../storage/recordsPort.ts';
import type { Span, Tallies } from '../storage/talliesPort.ts';
import type { OpenTally } from './openTally.ts';
import type { TallyBook } from './tally.ts';

/** Tallies of one transaction: on one machine spends wait for it. */
export const SLICE = 25;
/** Where the database is shared and may be far, each transaction has its way to go. */
export const SHARED_SLICE = 500;

/** How long counts are kept, by the span that they are summed over. */
export type Retention = Readonly<Record<Span, number>>;

export interface FlushParts {
  readonly book: TallyBook;
  readonly tallies: Tallies;
  readonly records: Pick<Records, 'listApis'>;
  /** Tallies of one transaction. */
  readonly sliceSize: number;
  readonly retention: Retention;
}

interface Slice {
  readonly batch: number;
  readonly tallies: readonly OpenTally[];
}

/**
 * Writes down what was counted, slice by slice, one at a time. A slice that was refused, or whose fate is not known, is kept
 * and sent again as it is, under the same number: it is added once.
 */
export class TallyFlush {
  readonly #parts: FlushParts;
  #batch = 0;
  #unsent: Slice | null = null;
  #sending: Promise<void> | null = null;
  /** How many generations were written down until now. */
  #written = 0;

  constructor(parts: FlushParts) {
    this.#parts = parts;
  }

  /** Returns when all that was counted before the call is written down; `pause` is waited for between two slices. */
  async flush(pause: () => Promise<void> = goOn): Promise<void> {
    const { book } = this.#parts;
    const wanted = book.seals + 1;
    while (this.#written < wanted) {
      if (this.#isWritten) {
        this.#written = book.seals;
        if (this.#written < wanted) book.seal();
        continue;
      }
      await this.#sendNext();
      if (!this.#isWritten) await pause();
    }
  }

  /** Removes counts that are older than they are to be kept. */
  async prune(nowMs: number, pause: () => Promise<void> = goOn): Promise<void> {
    const { tallies, retention } = this.#parts;
    for (const span of ['minute', 'hour', 'day'] as const) {
      while (!(await tallies.prune(span, nowMs - retention[span]))) await pause();
    }
  }

  get #isWritten(): boolean {
    return this.#unsent === null && this.#parts.book.isSealedEmpty;
  }

  /** Shared by all who wait. */
  #sendNext(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #send(): Promise<void> {
    const { book, tallies } = this.#parts;
    if (book.asked.length > 0) await this.#lookUpApis();
    this.#unsent ??= this.#nextSlice();
    if (this.#unsent === null) return;
    await tallies.add(this.#unsent.tallies, this.#unsent.batch);
    this.#unsent = null;
  }

  #nextSlice(): Slice | null {
    const tallies = this.#parts.book.take(this.#parts.sliceSize);
    return tallies.length === 0 ? null : { batch: ++this.#batch, tallies };
  }

  /** Which of the apis that unknown keys were asked for do exist. */
  async #lookUpApis(): Promise<void> {
    const { book, records } = this.#parts;
    const count = book.asked.length;
    const ids = [...new Set(book.asked.map(({ apiId }) => apiId))];
    const { items } = await records.listApis({ ids, limit: ids.length, after: null });
    book.settleAsked(count, new Set(items.map(({ id }) => id)));
  }
}

async function goOn(): Promise<void> {}
