import { ageMs, type Clocks, type Instant, instantOf } from '../../core/age.ts';
import { type DutyRule, restMs } from '../../core/dutyCycle.ts';
import type { LocalCounts } from '../../storage/port/storage.ts';
import type { Task, Turn } from '../../storage/port/tasks.ts';
import type { LocalLimits } from './localLimits.ts';

/** On one machine saving takes a twentieth of the time: with very many counters the interval is stretched. */
const SAVE: DutyRule = { rest: 20, minRest: 1, cycleMs: 20_000 };
/** On a shared database a fiftieth. A crash loses at most 20 seconds of local counts. */
const SHARED_SAVE: DutyRule = { rest: 50, minRest: 0, cycleMs: 20_000 };
const NO_REST: DutyRule = { rest: 0, minRest: 0, cycleMs: 0 };
/** So few counts take long only because the database is far away, not because it is busy: no rest is needed. */
const FEW = 100;
/** After a failed save all counts are saved again. */
const FAILED_SAVE_REST_MS = 5_000;
/** Owners of local counters that one run looks at, whether they can be forgotten. */
const FORGET_STEP = 200;

export interface SavingContext extends Clocks {
  readonly localLimits: Pick<LocalLimits, 'tidy' | 'unsavedSize' | 'untilUnsaved' | 'sync' | 'syncIfHeard'>;
  readonly localCounts: Pick<LocalCounts, 'isShared' | 'isAlone'>;
  readonly nowMs: () => number;
  readonly everyMs: number;
}

/** The task that saves local counts and exchanges them with other nodes. */
export class LocalCountSaving implements Task {
  readonly name = 'saving local counts';
  readonly everyMs: number;
  readonly #context: SavingContext;
  #nextSaveAtMs = 0;
  #savedAt: Instant | null = null;

  constructor(context: SavingContext) {
    this.everyMs = context.everyMs;
    this.#context = context;
  }

  /** How long ago local counts were last saved; null = never. */
  get lagMs(): number | null {
    return this.#savedAt === null ? null : Math.round(ageMs(this.#savedAt, this.#context));
  }

  /** On one machine the run waits until there is a count to save: an idle process is not woken for it. */
  async run(turn: Turn): Promise<void> {
    const { localLimits, localCounts, nowMs } = this.#context;
    localLimits.tidy(nowMs(), FORGET_STEP);
    if (localCounts.isShared) return this.#exchange();
    if (localLimits.unsavedSize > 0 && !this.#isResting) await this.#save();
    await turn.until(localLimits.untilUnsaved());
  }

  get #isResting(): boolean {
    return this.#context.monotonicMs() < this.#nextSaveAtMs;
  }

  /** While this node rests from saving, it still looks whether another node has come. */
  async #exchange(): Promise<void> {
    if (!this.#isResting) return this.#save();
    const startedAt = instantOf(this.#context);
    if (await this.#context.localLimits.syncIfHeard()) this.#savedAt = startedAt;
  }

  async #save(): Promise<void> {
    const { localLimits, monotonicMs, localCounts } = this.#context;
    const counts = localLimits.unsavedSize;
    const startedAt = instantOf(this.#context);
    try {
      await localLimits.sync();
    } catch (error) {
      if (!localCounts.isShared) this.#nextSaveAtMs = monotonicMs() + FAILED_SAVE_REST_MS;
      throw error;
    }
    this.#savedAt = startedAt;
    const tookMs = monotonicMs() - startedAt.monotonicMs;
    this.#nextSaveAtMs = monotonicMs() + restMs(this.#rule(counts), { tookMs, sinceMs: tookMs });
  }

  #rule(counts: number): DutyRule {
    const { isShared, isAlone } = this.#context.localCounts;
    if (!isShared) return SAVE;
    return isAlone && counts > FEW ? SHARED_SAVE : NO_REST;
  }
}
