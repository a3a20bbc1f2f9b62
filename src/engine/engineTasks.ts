import type { Clocks } from '../core/clocks.ts';
import type { Task, TaskLog } from '../storage/port/tasks.ts';
import { analyticsTasks } from './analytics/analyticsTasks.ts';
import type { Engine } from './engine.ts';
import { LocalCountSaving } from './local/saveLocalCounts.ts';

const SWEEP_EVERY_MS = 30_000;
const PRUNE_EVERY_MS = 60_000;
const IMPORT_EVERY_MS = 1_000;
const WEBHOOKS_EVERY_MS = 1_000;
/** A wall clock that moves by this much against the monotonic clock was set by someone. */
const CLOCK_JUMP_MS = 2_000;

export interface EngineTaskOptions extends Clocks {
  readonly engine: Engine;
  readonly syncIntervalMs: number;
  readonly log: TaskLog;
}

export interface EngineTasks {
  readonly tasks: readonly Task[];
  /** How long ago local counts were last saved; null = never. */
  readonly syncLagMs: () => number | null;
}

/** What the engine does behind the requests. */
export function engineTasks({ engine, syncIntervalMs, log, ...clocks }: EngineTaskOptions): EngineTasks {
  const { storage, sweep, importQueue, deleteAllKeys } = engine;
  const nowMs = (): number => storage.ledger.nowMs();
  const saving = new LocalCountSaving({
    ...clocks,
    localLimits: engine.localLimits,
    localCounts: storage.localCounts,
    nowMs,
    everyMs: syncIntervalMs,
  });
  const tasks: Task[] = [
    saving,
    {
      name: 'saving refills',
      everyMs: SWEEP_EVERY_MS,
      run: async () => void (await sweep.run()),
      stop: () => sweep.stop(),
    },
    { name: 'importing keys', everyMs: IMPORT_EVERY_MS, run: () => importQueue.run(), stop: () => importQueue.stop() },
    { name: 'finishing deletions', everyMs: SWEEP_EVERY_MS, run: () => deleteAllKeys.finish() },
    ...analyticsTasks({
      writing: engine.countWriting,
      nowMs,
      monotonicMs: clocks.monotonicMs,
      isShared: storage.localCounts.isShared,
    }),
    { name: 'removing expired records', everyMs: PRUNE_EVERY_MS, run: () => storage.ledger.prune() },
    { name: 'telling of keys that expire', everyMs: SWEEP_EVERY_MS, run: () => engine.expiringKeys.run() },
    { name: 'sending webhooks', everyMs: WEBHOOKS_EVERY_MS, run: () => engine.deliverEvents.run(log) },
    { name: 'removing old events', everyMs: PRUNE_EVERY_MS, run: () => pruneEvents(engine) },
    clockWatch(clocks, log),
  ];
  return { tasks, syncLagMs: () => saving.lagMs };
}

async function pruneEvents({ storage, eventRetentionMs }: Engine): Promise<void> {
  while (!(await storage.events.prune(storage.ledger.nowMs() - eventRetentionMs)));
}

function clockWatch({ wallClockMs, monotonicMs }: Clocks, log: TaskLog): Task {
  let offsetMs = wallClockMs() - monotonicMs();
  return {
    name: 'watching the clock',
    everyMs: SWEEP_EVERY_MS,
    async run() {
      const beforeMs = offsetMs;
      offsetMs = wallClockMs() - monotonicMs();
      const jumpMs = Math.round(offsetMs - beforeMs);
      if (Math.abs(jumpMs) >= CLOCK_JUMP_MS) log.warn('the wall clock jumped', { milliseconds: jumpMs });
    },
  };
}
