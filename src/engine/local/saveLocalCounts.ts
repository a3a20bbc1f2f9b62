import { ageMs, type Clocks, type Instant, instantOf } from '../../core/clocks.ts';
import { type DutyRule, restMs } from '../../core/dutyCycle.ts';
import type { LocalCounts } from '../../storage/port/storage.ts';
import type { Task, Turn } from '../../storage/port/tasks.ts';
import type { LocalLimits } from './localLimits.ts';

/** With the embedded database, saving takes at most a twentieth of the time. Very many counters stretch the interval. */
const SAVE: DutyRule = { rest: 20, minRest: 1, cycleMs: 20_000 };
/** After a failed save all counts are saved again. */
const FAILED_SAVE_REST_MS = 5_000;
/** Owners of local counters that one run looks at, whether they can be forgotten. */
const FORGET_STEP = 200;

export interface SavingContext extends Clocks {
  readonly localLimits: Pick<LocalLimits, 'tidy' | 'unsavedSize' | 'untilUnsaved' | 'sync'>;
  readonly localCounts: Pick<LocalCounts, 'isShared'>;
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

  /** On a shared database every run saves. With the embedded one a run waits for a count to save, so that an idle process is not woken. */
  async run(turn: Turn): Promise<void> {
    const { localLimits, localCounts, nowMs } = this.#context;
    localLimits.tidy(nowMs(), FORGET_STEP);
    if (localCounts.isShared) return this.#save();
    if (localLimits.unsavedSize > 0 && !this.#isResting) await this.#save();
    await turn.until(localLimits.untilUnsaved());
  }

  get #isResting(): boolean {
    return this.#context.monotonicMs() < this.#nextSaveAtMs;
  }

  async #save(): Promise<void> {
    const { localLimits, monotonicMs, localCounts } = this.#context;
    const startedAt = instantOf(this.#context);
    try {
      await localLimits.sync();
    } catch (error) {
      if (!localCounts.isShared) this.#nextSaveAtMs = monotonicMs() + FAILED_SAVE_REST_MS;
      throw error;
    }
    this.#savedAt = startedAt;
    const tookMs = monotonicMs() - startedAt.monotonicMs;
    if (!localCounts.isShared) this.#nextSaveAtMs = monotonicMs() + restMs(SAVE, { tookMs, sinceMs: tookMs });
  }
}
