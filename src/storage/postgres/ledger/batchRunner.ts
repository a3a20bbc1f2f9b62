import { type RefusalCause, StorageOutcomeUnknown, StorageUnavailable } from '../../port/storage.ts';
import { pauseBeforeRetry } from '../connection/retryPause.ts';
import type { Management } from '../management/management.ts';
import type { BatchOutcome } from './batch.ts';
import { BatchRefused, BatchUndone, type Committer } from './committer.ts';
import type { ContendedAccounts } from './contendedAccounts.ts';
import type { PlannedBatch } from './dispatch/plan.ts';
import { batchOf } from './generalBatch.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { BatchFences } from './fences.ts';
import { plainBatchOf } from './plainBatch.ts';
import type { SeenChange } from '../freshness/seenChange.ts';
import type { Queue, QueuedSpend } from './queue.ts';

const HELD_TOO_LONG = 'Another database transaction has locked the counter for too long; nothing was spent.';
/** How long a failure stays visible when it does not recur. */
const SHOW_FAILURE_MS = 3_000;
/** How often a batch that was not done is sent again. */
const MAX_TRIES = 5;

export interface LedgerObserver {
  committed(batchSize: number, milliseconds: number): void;
  refused(reason: string): void;
}

export interface RunnerContext {
  readonly queue: Queue;
  readonly contended: ContendedAccounts;
  readonly clock: LedgerClock;
  readonly seenChange: SeenChange;
  readonly management: Pick<Management, 'forgetWindow'>;
  readonly observe: LedgerObserver;
  readonly random: () => number;
  readonly monotonicMs: () => number;
}

/** What became of a batch: the spends that go back to the head of the queue, and how the others are answered. */
export interface Returned {
  readonly putBack: readonly QueuedSpend[];
  readonly answers: readonly (() => void)[];
}

type SpendBatch = Pick<PlannedBatch<QueuedSpend, Committer>, 'committer' | 'form' | 'items' | 'waits'>;

/**
 * Sends a batch and reads what became of each spend:
 *   done            answered
 *   busy            another node holds a row: back to the queue, its accounts are contended for a while
 *   needs general   back to the queue, for a general batch
 *   fence broken    answered as stale; the other spends of the batch are sent again at once, without new ones, whose fences may
 *                   be broken too
 *   batch undone    back to the queue a few times, each after a pause
 *   batch refused   the batch is halved until the spend at fault is alone
 */
export class BatchRunner {
  readonly #context: RunnerContext;
  #lastFailure: Error | null = null;
  #failedAtMs = -Infinity;

  constructor(context: RunnerContext) {
    this.#context = context;
  }

  /** Why the last batch failed. It becomes null after a while: a node that is not ready gets no spends that could clear it. */
  get recentFailure(): string | null {
    return this.#recent?.message ?? null;
  }

  /** What the database refused it for, for good. */
  get recentRefusal(): RefusalCause | null {
    return this.#recent instanceof StorageUnavailable ? this.#recent.refusedFor : null;
  }

  get #recent(): Error | null {
    return this.#context.monotonicMs() - this.#failedAtMs < SHOW_FAILURE_MS ? this.#lastFailure : null;
  }

  /** Never rejects. */
  async run(batch: SpendBatch): Promise<Returned> {
    const startedAtMs = this.#context.monotonicMs();
    const { committer, form, items, waits } = batch;
    try {
      const spends = items.map(({ spend }) => spend);
      const fences = new BatchFences(spends, this.#context.seenChange);
      const sent = form === 'plain' ? plainBatchOf(spends, fences) : batchOf(spends, fences);
      const outcomes = await committer.run(sent, waits);
      fences.noteCompared(outcomes);
      this.#lastFailure = null;
      this.#context.observe.committed(items.length, this.#context.monotonicMs() - startedAtMs);
      return await this.#read(batch, outcomes, startedAtMs);
    } catch (error) {
      return this.#fail(batch, error as Error);
    }
  }

  async #read(batch: SpendBatch, outcomes: readonly BatchOutcome[], startedAtMs: number): Promise<Returned> {
    const putBack: QueuedSpend[] = [];
    const unbroken: QueuedSpend[] = [];
    const settled: (readonly [QueuedSpend, BatchOutcome | undefined])[] = [];
    for (const [i, item] of batch.items.entries()) {
      const outcome = outcomes[i];
      if (outcome === 'resend') unbroken.push(item);
      else if (outcome === 'needs general') {
        item.plainCharge = null;
        putBack.push(item);
      } else if (outcome === 'busy' && batch.waits !== 'first') {
        this.#context.contended.add(item.locks, this.#context.monotonicMs());
        putBack.push(item);
      } else settled.push([item, outcome]);
    }
    const answer = (): void => {
      for (const [item, outcome] of settled) this.#settle(item, outcome, startedAtMs);
    };
    const returned: Returned = { putBack, answers: [answer] };
    return unbroken.length === 0 ? returned : joined(returned, await this.run({ ...batch, items: unbroken }));
  }

  #settle(item: QueuedSpend, outcome: BatchOutcome | undefined, sentAtMs: number): void {
    const { queue, clock, management } = this.#context;
    if (typeof outcome === 'string') return queue.reject(item, new StorageUnavailable(HELD_TOO_LONG));
    if (outcome === undefined) return queue.reject(item, new Error('the database left a spend unanswered'));
    if (outcome.status === 'stale') {
      // The spend may name another refill epoch than the database is in. The caller reads this clock and asks again at once.
      clock.keepWithin(sentAtMs, outcome.nowMs);
      if (outcome.fence === null) for (const { account } of item.spend.charges) management.forgetWindow(account);
    }
    queue.answerSpend(item, outcome);
  }

  async #fail(batch: SpendBatch, error: Error): Promise<Returned> {
    if (error instanceof BatchRefused) return this.#halve(batch, error);
    if (!(error instanceof BatchUndone)) {
      this.#giveUp(batch.items, error);
      return { putBack: [], answers: [] };
    }
    const putBack = batch.items.filter(({ tries }) => tries < MAX_TRIES);
    const over = batch.items.filter(({ tries }) => tries >= MAX_TRIES);
    if (over.length > 0) {
      this.#giveUp(
        over,
        new StorageUnavailable(`The database reports an error (${error.message}); nothing was spent.`),
      );
    }
    let mostTries = 0;
    for (const item of putBack) mostTries = Math.max(mostTries, ++item.tries);
    if (mostTries > 0) await pauseBeforeRetry(mostTries, this.#context.random);
    return { putBack, answers: [] };
  }

  #giveUp(items: readonly QueuedSpend[], error: Error): void {
    const isTold = error instanceof StorageUnavailable || error instanceof StorageOutcomeUnknown;
    const told = isTold ? error : new StorageOutcomeUnknown(error.message);
    this.#lastFailure = told;
    this.#failedAtMs = this.#context.monotonicMs();
    this.#context.observe.refused(told.message);
    for (const item of items) this.#context.queue.reject(item, told);
  }

  /** Only the spend that fails alone is answered as failed. */
  async #halve(batch: SpendBatch, error: BatchRefused): Promise<Returned> {
    const { items } = batch;
    const [only] = items;
    if (only !== undefined && items.length === 1) {
      this.#context.queue.answerSpend(only, { status: 'failed', reason: error.message });
      return { putBack: [], answers: [] };
    }
    const middle = Math.ceil(items.length / 2);
    const first = await this.run({ ...batch, items: items.slice(0, middle) });
    return joined(first, await this.run({ ...batch, items: items.slice(middle) }));
  }
}

function joined(first: Returned, second: Returned): Returned {
  return { putBack: [...first.putBack, ...second.putBack], answers: [...first.answers, ...second.answers] };
}
