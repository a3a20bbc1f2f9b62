import type { CountColumns } from '../../core/verificationCounts.ts';
import type { Records } from '../../storage/port/records.ts';
import { type Span, SPANS, type Analytics } from '../../storage/port/analytics.ts';
import type { OpenCounts } from './openCounts.ts';

/** Counts that are written at once. Verifications wait while they are taken. */
export const SLICE = 500;

/** How long the sums of each span are kept. */
export type Retention = Readonly<Record<Span, number>>;

export interface WritingContext {
  readonly openCounts: OpenCounts;
  readonly analytics: Analytics;
  readonly records: Pick<Records, 'listApis'>;
  /** The largest number of counts in one transaction. */
  readonly sliceSize: number;
  readonly retention: Retention;
}

interface Slice {
  readonly batch: number;
  readonly counts: CountColumns;
}

/**
 * Writes open counts to the database, one slice at a time. A slice that was refused, or whose outcome is unknown, is sent again
 * unchanged with the same number: storage adds it once.
 */
export class CountWriting {
  readonly #context: WritingContext;
  #batch = 0;
  #unsent: Slice | null = null;
  #sending: Promise<void> | null = null;
  /** Generations written until now. */
  #written = 0;
  /** The key id up to which last uses were pruned. */
  #lastUse: string | null = null;

  constructor(context: WritingContext) {
    this.#context = context;
  }

  get sliceSize(): number {
    return this.#context.sliceSize;
  }

  /** Returns when everything counted before the call is written. Waits for `pause` between two slices. */
  async flush(pause: (waiting: number) => Promise<unknown> = goOn): Promise<void> {
    const { openCounts } = this.#context;
    const wanted = openCounts.seals + 1;
    while (this.#written < wanted) {
      if (this.#isWritten) {
        this.#written = openCounts.seals;
        if (this.#written < wanted) openCounts.seal();
        continue;
      }
      await this.#sendNext();
      if (!this.#isWritten) await pause(openCounts.waiting);
    }
  }

  /** Like `flush` when the open counts are few. Otherwise nothing is done: each slice is work that verifications have to wait for. */
  async flushFew(): Promise<void> {
    if (this.#context.openCounts.length <= this.#context.sliceSize) await this.flush();
  }

  /** Reads the tag lists that other nodes, or this node before a restart, have counted under today. */
  async learnTags(): Promise<void> {
    const { analytics, openCounts } = this.#context;
    const { tagLists } = openCounts;
    const { dayMs } = tagLists;
    for (const apiId of tagLists.behind()) {
      // One more, because `other` may be among them.
      tagLists.learn(apiId, dayMs, await analytics.tagLists(apiId, dayMs, tagLists.maxLists + 1));
    }
  }

  /** Folds step by step until the end of the round, or until `pause` answers false. */
  async fold(pause: () => Promise<boolean> = goOn): Promise<void> {
    while (!(await this.#context.analytics.fold())) if (!(await pause())) return;
  }

  /** Removes counts past their retention, and last uses of deleted keys. */
  async prune(nowMs: number, pause: () => Promise<boolean> = goOn): Promise<void> {
    const { analytics, retention } = this.#context;
    for (const span of SPANS) {
      while (!(await analytics.prune(span, nowMs - retention[span]))) if (!(await pause())) return;
    }
    this.#lastUse = await analytics.pruneUses(this.#lastUse);
  }

  get #isWritten(): boolean {
    return this.#unsent === null && this.#context.openCounts.isSealedEmpty;
  }

  /** All callers share one send. */
  #sendNext(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #send(): Promise<void> {
    const { openCounts, analytics } = this.#context;
    if (openCounts.asked.length > 0) await this.#lookUpApis();
    this.#unsent ??= this.#nextSlice();
    if (this.#unsent === null) return;
    await analytics.add(this.#unsent.counts, this.#unsent.batch);
    this.#unsent = null;
  }

  #nextSlice(): Slice | null {
    const counts = this.#context.openCounts.take(this.#context.sliceSize);
    return counts.length === 0 ? null : { batch: ++this.#batch, counts };
  }

  /** Looks up which of the apis that were named with unknown keys exist. */
  async #lookUpApis(): Promise<void> {
    const { openCounts, records } = this.#context;
    const count = openCounts.asked.length;
    const ids = [...new Set(openCounts.asked.map(({ apiId }) => apiId))];
    const { items } = await records.listApis({ ids, limit: ids.length, after: null });
    openCounts.settleAsked(count, new Set(items.map(({ id }) => id)));
  }
}

async function goOn(): Promise<boolean> {
  return true;
}
