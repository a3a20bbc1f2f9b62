import { DutyCycle, type DutyRule } from '../../basics/dutyCycle.ts';
import type { CountColumns } from '../../core/verificationCounts.ts';
import type { OpenCounts } from './openCounts.ts';
import { type Analytics, type Span, SPANS } from '../../storage/port/analytics.ts';
import type { Records } from '../../storage/port/records.ts';
import type { Task, Turn } from '../../storage/port/tasks.ts';

/** Counts that are written at once. Verifications wait while they are taken. */
export const SLICE = 500;

/** How long the sums of each span are kept. */
export type Retention = Readonly<Record<Span, number>>;

interface WritingContext {
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

const WRITE_EVERY_MS = 4_000;
const FOLD_EVERY_MS = 5_000;
const PRUNE_EVERY_MS = 600_000;

/**
 * A slice of counts every 30 ms: 100,000 keys that are in use are written in 6 seconds. A count waits for the write that is
 * going on, for the next turn and for its own write: 14 seconds at most, unless the database is slow. On one machine a slice
 * waits while a step of the fold runs; the slices after it make up for that.
 */
const WRITE: DutyRule = { cycleMs: 30, minRest: 0, makesUpMs: 10_000 };
/** With more keys than this, nearly every verification becomes a row of its own, so slices are written less often. */
const MANY = 100_000;
/** The largest factor by which the time between two slices grows. */
const MAX_SLOWDOWN = 5;

/** Steps of the fold use half of the time of their own thread. */
const STEP: DutyRule = { rest: 1, minRest: 1, cycleMs: Infinity };
/** On a shared database, steps use a tenth of the time, because spends wait for it too. */
const SHARED_STEP: DutyRule = { rest: 9, minRest: 1, cycleMs: 2_000, patienceMs: 40_000 };

/** What arrives while a round rests makes the next round longer, so the rest is bounded. */
const ROUND: DutyRule = { rest: 30, minRest: 1, cycleMs: 100_000 };
/** Questions about all keys read everything that a shared database has not folded yet: its rounds come sooner. */
const SHARED_ROUND: DutyRule = { rest: 30, minRest: 0.25, cycleMs: 80_000 };

interface AnalyticsTaskContext {
  readonly writing: Pick<CountWriting, 'flush' | 'learnTags' | 'fold' | 'prune'>;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  /** Other nodes use the same database. */
  readonly isShared: boolean;
}

export function analyticsTasks({ writing, nowMs, monotonicMs, isShared }: AnalyticsTaskContext): Task[] {
  const [step, round] = isShared ? [SHARED_STEP, SHARED_ROUND] : [STEP, ROUND];
  /** Rests between two pieces of work. */
  const pauses = (turn: Turn, ruleFor: (waiting: number) => DutyRule) => {
    const cycle = new DutyCycle(monotonicMs);
    return async (waiting = 0): Promise<boolean> => {
      const goesOn = await turn.rest(cycle.restMs(ruleFor(waiting)));
      cycle.resume();
      return goesOn;
    };
  };
  return [
    {
      name: 'saving analytics',
      everyMs: WRITE_EVERY_MS,
      async run(turn) {
        await writing.flush(pauses(turn, slowedBy));
        await writing.learnTags();
      },
    },
    {
      name: 'summing analytics',
      everyMs: FOLD_EVERY_MS,
      async run(turn) {
        const cycle = new DutyCycle(monotonicMs);
        await writing.fold(pauses(turn, () => step));
        await turn.rest(cycle.restMs(round));
      },
    },
    {
      name: 'removing old analytics',
      everyMs: PRUNE_EVERY_MS,
      run: (turn) =>
        writing.prune(
          nowMs(),
          pauses(turn, () => step),
        ),
    },
  ];
}

/** The rule of writing while so many counts wait. */
function slowedBy(waiting: number): DutyRule {
  const slowdown = Math.min(Math.max(waiting / MANY, 1), MAX_SLOWDOWN);
  return { ...WRITE, cycleMs: WRITE.cycleMs * slowdown };
}
