import type { Clocks } from '../basics/clocks.ts';
import { PRUNE_GRACE_MS } from '../storage/port/storage.ts';
import type { Task, TaskLog, Turn } from '../storage/port/tasks.ts';
import { analyticsTasks } from './analytics/writeCounts.ts';
import type { Engine } from './engine.ts';
import { LocalCountSaving } from './localLimits.ts';

const SWEEP_EVERY_MS = 30_000;
const RESERVATIONS_EVERY_MS = 5_000;
const NOTICES_EVERY_MS = 1_000;
const REFILLS_EVERY_MS = 5_000;
const PRUNE_EVERY_MS = 60_000;
const IMPORT_EVERY_MS = 1_000;
const WEBHOOKS_EVERY_MS = 1_000;
/** How long a reservation can be read after it has ended. */
const KEPT_RESERVATION_MS = 3 * 24 * 60 * 60 * 1000;
/** The same for one that held nothing: whoever has a key can make very many. */
const KEPT_EMPTY_MS = 60 * 60 * 1000;
/** A payment that is reported again within this time tops up once, however short the retention of statements is. */
const MIN_CALL_RETENTION_MS = 35 * 24 * 60 * 60 * 1000;
/** After each step of removing audit entries, so many times as long as it took. */
const AUDIT_REST = 4;
/** A wall clock that moves by this much against the monotonic clock was set by someone. */
const CLOCK_JUMP_MS = 2_000;

interface EngineTaskOptions extends Clocks {
  readonly engine: Engine;
  readonly syncIntervalMs: number;
  readonly log: TaskLog;
}

interface EngineTasks {
  readonly tasks: readonly Task[];
  /** How long ago local counts were last saved; null = never. */
  readonly syncLagMs: () => number | null;
}

/** What the engine does behind the requests. */
export function engineTasks({ engine, syncIntervalMs, log, ...clocks }: EngineTaskOptions): EngineTasks {
  const { storage, dueCredits, importQueue, deleteAllKeys } = engine;
  const nowMs = (): number => storage.ledger.nowMs();
  const saving = new LocalCountSaving({
    ...clocks,
    localLimits: engine.memory.localLimits,
    localCounts: storage.localCounts,
    nowMs,
    everyMs: syncIntervalMs,
  });
  const tasks: Task[] = [
    saving,
    {
      name: 'saving refills',
      everyMs: SWEEP_EVERY_MS,
      run: async () => void (await dueCredits.sweep()),
      stop: () => dueCredits.stop(),
    },
    {
      name: 'ending reservations',
      everyMs: RESERVATIONS_EVERY_MS,
      run: () => dueCredits.endExpired(),
      stop: () => dueCredits.stop(),
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
    { name: 'telling of credits', everyMs: NOTICES_EVERY_MS, run: () => engine.tellCredits.run() },
    { name: 'telling of limits', everyMs: NOTICES_EVERY_MS, run: () => engine.tellLimits.run() },
    { name: 'telling of refills', everyMs: REFILLS_EVERY_MS, run: () => engine.tellRefills.run() },
    {
      name: 'looking for balances to tell of',
      everyMs: SWEEP_EVERY_MS,
      run: () => engine.tellCredits.recheck(),
      stop: () => engine.tellCredits.stop(),
    },
    { name: 'sending webhooks', everyMs: WEBHOOKS_EVERY_MS, run: () => engine.deliverEvents.run(log) },
    { name: 'removing old events', everyMs: PRUNE_EVERY_MS, run: () => pruneEvents(engine) },
    { name: 'forgetting limits that were told of', everyMs: PRUNE_EVERY_MS, run: () => pruneLimits(engine) },
    { name: 'removing old reservations', everyMs: PRUNE_EVERY_MS, run: () => pruneReservations(engine) },
    { name: 'removing old statements', everyMs: PRUNE_EVERY_MS, run: () => pruneStatements(engine) },
    {
      name: 'removing old audit entries',
      everyMs: PRUNE_EVERY_MS,
      run: (turn) => pruneAuditEntries(engine, turn, clocks.monotonicMs),
    },
    clockWatch(clocks, log),
  ];
  return { tasks, syncLagMs: () => saving.lagMs };
}

async function pruneEvents({ storage, eventRetentionMs }: Engine): Promise<void> {
  while (!(await storage.events.prune(storage.ledger.nowMs() - eventRetentionMs)));
}

async function pruneReservations({ storage: { reservations, ledger } }: Engine): Promise<void> {
  const prune = (nowMs: number): Promise<boolean> =>
    reservations.prune(nowMs - KEPT_RESERVATION_MS, nowMs - KEPT_EMPTY_MS);
  while (!(await prune(ledger.nowMs())));
}

async function pruneLimits({ storage: { told, ledger } }: Engine): Promise<void> {
  while (!(await told.pruneLimits(ledger.nowMs() - PRUNE_GRACE_MS)));
}

async function pruneStatements({ storage: { statements, ledger }, statementRetentionMs }: Engine): Promise<void> {
  const callRetentionMs = Math.max(statementRetentionMs, MIN_CALL_RETENTION_MS);
  for (;;) {
    const nowMs = ledger.nowMs();
    if (await statements.prune(nowMs - statementRetentionMs, nowMs - callRetentionMs)) return;
  }
}

/** The first time there can be years of them: it rests after each step, and ends with the process. */
async function pruneAuditEntries(
  { storage: { auditEntries, ledger }, auditRetentionMs }: Engine,
  turn: Turn,
  monotonicMs: () => number,
): Promise<void> {
  if (auditRetentionMs === null) return;
  for (;;) {
    const startedAtMs = monotonicMs();
    if (await auditEntries.prune(ledger.nowMs() - auditRetentionMs)) return;
    if (!(await turn.rest((monotonicMs() - startedAtMs) * AUDIT_REST))) return;
  }
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
