import type { Charge, Spend, SpendOutcome } from '../../../core/spend.ts';
import { Deferred } from '../../port/deferred.ts';
import { StorageUnavailable } from '../../port/storage.ts';
import type { LastSeenChange } from '../freshness/freshness.ts';
import { fenceCount, type Lock, locksOfSpend } from './fences.ts';
import { isPlain } from './plainBatch.ts';

/** How long an item waits in the queue before it is refused. */
const MAX_WAIT_MS = 5_000;

interface Queued<Outcome> {
  readonly locks: readonly Lock[];
  readonly queuedAtMs: number;
  readonly outcome: Deferred<Outcome>;
}

export interface QueuedSpend extends Queued<SpendOutcome> {
  readonly kind: 'spend';
  readonly spend: Spend;
  /** The only charge of a spend that can join a plain batch; null = it needs a general one. */
  plainCharge: Charge | null;
  readonly fences: number;
  /** How often it was sent but not done. */
  tries: number;
}

/** A transaction of management, or of a reservation. */
export interface QueuedChange extends Queued<unknown> {
  readonly kind: 'change';
  readonly run: () => Promise<unknown>;
  readonly plainCharge: null;
  readonly fences: 0;
}

export type QueueItem = QueuedSpend | QueuedChange;

interface QueueOptions {
  /** How many spends and changes may be queued or in flight at one time. */
  readonly maxWaiting: number;
  readonly lastSeenChange: LastSeenChange;
  readonly monotonicMs: () => number;
}

/**
 * Waiting spends and changes in the order in which they arrived, and the number of all that are not answered yet. An item is either in the
 * queue or in flight. The ledger takes it out of the queue (`keep`), then answers it or puts it back.
 */
export class Queue {
  readonly #options: QueueOptions;
  #items: readonly QueueItem[] = [];
  #added: QueueItem[] = [];
  #unanswered = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isClosed = false;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get items(): readonly QueueItem[] {
    if (this.#added.length > 0) {
      this.#items = this.#items.length === 0 ? this.#added : [...this.#items, ...this.#added];
      this.#added = [];
    }
    return this.#items;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0 && this.#added.length === 0;
  }

  /** Queued or in flight. */
  get unanswered(): number {
    return this.#unanswered;
  }

  addSpend(spend: Spend, queuedAtMs: number): Deferred<SpendOutcome> {
    const refusal = this.#refusal();
    if (refusal !== null) return Deferred.failed(refusal);
    const outcome = new Deferred<SpendOutcome>();
    const plainCharge = isPlain(spend) ? (spend.charges[0] ?? null) : null;
    const fences = fenceCount(spend, this.#options.lastSeenChange);
    const locks = locksOfSpend(spend);
    this.#add({ kind: 'spend', spend, locks, queuedAtMs, plainCharge, fences, tries: 0, outcome });
    return outcome;
  }

  /** While `run` runs, nothing else on this node uses its locks. */
  addChange<T>(locks: readonly Lock[], run: () => Promise<T>, queuedAtMs: number): Deferred<T> {
    const refusal = this.#refusal();
    if (refusal !== null) return Deferred.failed(refusal);
    const outcome = new Deferred<T>();
    const untyped = outcome as unknown as Deferred<unknown>;
    this.#add({ kind: 'change', run, locks, queuedAtMs, plainCharge: null, fences: 0, outcome: untyped });
    return outcome;
  }

  /** These items of the queue stay in it. All others are in flight now. */
  keep(items: readonly QueueItem[]): void {
    this.#items = items;
  }

  /** Items in flight that were not done. They go before everything in the queue. */
  putBack(items: readonly QueueItem[]): void {
    if (items.length === 0) return;
    this.#items = [...items, ...this.items];
    this.#watch();
  }

  answerSpend(item: QueuedSpend, outcome: SpendOutcome): void {
    this.#unanswered--;
    item.outcome.know(outcome);
  }

  answerChange(item: QueuedChange, outcome: unknown): void {
    this.#unanswered--;
    item.outcome.know(outcome);
  }

  reject(item: QueueItem, error: Error): void {
    this.#unanswered--;
    item.outcome.fail(error);
  }

  /** Called after answers were given. */
  noteAnswered(): void {
    if (this.#unanswered === 0) this.#drained?.resolve();
  }

  /** Refuses new items, and waits until all others are answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#unanswered > 0) {
      this.#drained ??= Promise.withResolvers<void>();
      await this.#drained.promise;
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #refusal(): StorageUnavailable | null {
    if (this.#isClosed) return new StorageUnavailable('The database is closed.');
    if (this.#unanswered < this.#options.maxWaiting) return null;
    return new StorageUnavailable('Too many requests are waiting for the ledger.');
  }

  #add(item: QueueItem): void {
    this.#unanswered++;
    this.#added.push(item);
    this.#watch();
  }

  /** Refuses items that have waited for too long: they were never sent. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#refuseLate(this.#options.monotonicMs() - MAX_WAIT_MS);
      if (!this.isEmpty) this.#watch();
      this.noteAnswered();
    }, MAX_WAIT_MS / 5);
  }

  #refuseLate(oldestMs: number): void {
    const late = this.items.filter(({ queuedAtMs }) => queuedAtMs < oldestMs);
    if (late.length === 0) return;
    this.#items = this.items.filter(({ queuedAtMs }) => queuedAtMs >= oldestMs);
    const error = new StorageUnavailable(
      'The database was too busy to begin this request in time; nothing was spent or changed.',
    );
    for (const item of late) this.reject(item, error);
  }
}

/** How long an account stays contended after another transaction was found holding its row. */
const CONTENDED_MS = 3_000;

/** Accounts whose rows other nodes sometimes hold. A separate committer sends their spends and waits for the rows. */
export class ContendedAccounts {
  readonly #untilMs = new Map<Lock, number>();

  get size(): number {
    return this.#untilMs.size;
  }

  has(lock: Lock): boolean {
    return this.#untilMs.has(lock);
  }

  add(locks: readonly Lock[], nowMs: number): void {
    for (const lock of locks) {
      if (typeof lock !== 'number') continue;
      // Deleted first, so that the map stays in the order of time.
      this.#untilMs.delete(lock);
      this.#untilMs.set(lock, nowMs + CONTENDED_MS);
    }
  }

  forgetOld(nowMs: number): void {
    for (const [lock, untilMs] of this.#untilMs) {
      if (untilMs > nowMs) return;
      this.#untilMs.delete(lock);
    }
  }
}
