import { DutyCycle, type DutyRule } from '../../core/dutyCycle.ts';
import type { Task, Turn } from '../../storage/port/tasks.ts';
import type { CountWriting } from './writeCounts.ts';

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

export interface AnalyticsTaskContext {
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
