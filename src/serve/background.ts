import { ageMs, type Clocks, type Instant, instantOf } from '../core/age.ts';
import type { Engine } from '../engine/engine.ts';
import type { BackgroundGauges } from '../http/answer/metrics.ts';
import type { Log } from '../log.ts';
import type { PostgresStorage } from '../storage/postgres/storage.ts';
import { foldRestMs, stepRestMs } from './foldPace.ts';
import { saveRestMs } from './savePace.ts';
import { TallyPace } from './tallyPace.ts';
import { WalWatch } from '../storage/sqlite/file/walWatch.ts';
import { WarningWatch } from '../storage/postgres/connection/warningWatch.ts';

const SWEEP_EVERY_MS = 30_000;
const PRUNE_EVERY_MS = 60_000;
const HELLO_EVERY_MS = 1_000;
const IMPORT_EVERY_MS = 1_000;
const WRITE_COUNTS_EVERY_MS = 4_000;
const FOLD_EVERY_MS = 5_000;
const PRUNE_ANALYTICS_EVERY_MS = 600_000;
/** A step takes about a tenth of it. */
const FILL_EVERY_MS = 500;
const OLD_TRANSACTION_MS = 300_000;
/** A save that failed is followed by all counts once more: not at once. */
const FAILED_SAVE_REST_MS = 5_000;
/** Owners of local counters that are looked at in one turn, whether they can be forgotten. */
const FORGET_STEP = 200;
/** Of a period: who is that early comes with the next turn. */
const EARLY = 0.1;
/** A clock that moved by this much against the time that has passed was set by someone. */
const CLOCK_JUMP_MS = 2_000;

export interface BackgroundOptions extends Clocks {
  readonly engine: Engine;
  readonly log: Log;
  readonly syncIntervalMs: number;
  /** From 0 to 1: nodes that were started together shall not go on in step. */
  readonly random: () => number;
  /** The database that other nodes share; null where there are none. */
  readonly cluster: PostgresStorage | null;
  /** Size of the write-ahead log of an embedded database. */
  readonly walBytes: (() => number) | null;
}

/** What goes on behind the requests: saving local counts, writing refills down, removing what has ended. */
export class Background {
  readonly #options: BackgroundOptions;
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  readonly #running = new Set<Promise<void>>();
  #clockOffsetMs: number;
  #saveAgainAtMs = 0;
  #syncedAt: Instant | null = null;
  #oldestTransactionMs = 0;
  #isStopped = false;
  readonly #stopped = Promise.withResolvers<void>();

  constructor(options: BackgroundOptions) {
    this.#options = options;
    this.#clockOffsetMs = options.wallClockMs() - options.monotonicMs();
  }

  start(): void {
    const { engine, syncIntervalMs } = this.#options;
    this.#every(syncIntervalMs, 'synchronising local counts', () => this.#syncLocalCounts());
    this.#every(SWEEP_EVERY_MS, 'writing refills down', async () => {
      this.#watchClock();
      await engine.sweep.run();
    });
    this.#every(IMPORT_EVERY_MS, 'importing keys', () => engine.importQueue.run());
    this.#every(SWEEP_EVERY_MS, 'finishing deletions', () => engine.bulkDeletion.finish());
    const { countWriting } = engine;
    this.#every(WRITE_COUNTS_EVERY_MS, 'writing analytics down', async () => {
      const pace = new TallyPace(this.#options.monotonicMs);
      await countWriting.flush(async (waiting) => {
        await this.#rest(pace.restMs(countWriting.sliceSize, waiting));
        pace.rested();
      });
      await countWriting.learnTags();
    });
    this.#every(FOLD_EVERY_MS, 'summing analytics', async () => {
      const startedAtMs = this.#options.monotonicMs();
      await countWriting.fold(this.#restAfterSteps());
      const tookMs = this.#options.monotonicMs() - startedAtMs;
      await this.#rest(foldRestMs({ tookMs, isShared: this.#options.cluster !== null }));
    });
    this.#every(PRUNE_ANALYTICS_EVERY_MS, 'removing old analytics', () =>
      countWriting.prune(engine.storage.ledger.nowMs(), this.#restAfterSteps()),
    );
    const { cluster, walBytes, log } = this.#options;
    if (walBytes !== null) {
      const watch = new WalWatch(walBytes, log);
      this.#every(SWEEP_EVERY_MS, 'watching the log of the database', async () => watch.look());
    }
    if (cluster !== null) {
      this.#every(HELLO_EVERY_MS, 'telling the other nodes', () => cluster.sayHello(this.#syncLagMs));
      const watch = new WarningWatch(cluster.durability, log);
      this.#every(HELLO_EVERY_MS, 'watching the settings of the database', async () => watch.look());
      this.#every(PRUNE_EVERY_MS, 'looking for old transactions', () => this.#watchTransactions(cluster));
      let isFilled = false;
      this.#every(FILL_EVERY_MS, 'filling the index of the search', async () => {
        isFilled ||= await cluster.fillWords();
      });
    }
    this.#every(PRUNE_EVERY_MS, 'removing what has ended', async () => {
      await engine.storage.ledger.prune();
    });
  }

  /** Ends the timers and waits for what they have begun. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopped.resolve();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#options.engine.sweep.stop();
    this.#options.engine.importQueue.stop();
    await Promise.all(this.#running);
  }

  /** For the metrics. */
  gauges(): BackgroundGauges {
    const { cluster, walBytes } = this.#options;
    const among = cluster && {
      syncLagMs: this.#syncLagMs,
      freshnessAgeMs: cluster.freshness.ageMs,
      clockOffsetMs: cluster.clockOffsetMs,
      oldestTransactionMs: this.#oldestTransactionMs,
      durability: {
        fsync: cluster.durability.facts.fsync,
        full_page_writes: cluster.durability.facts.full_page_writes,
        synchronous_standby_names: cluster.durability.facts.awaits_standby,
      },
    };
    return { cluster: among, walBytes: walBytes?.() ?? null };
  }

  /** How long ago local counts were last exchanged; null = never. */
  get #syncLagMs(): number | null {
    return this.#syncedAt === null ? null : Math.round(ageMs(this.#syncedAt, this.#options));
  }

  /** Each task by itself: one that is still running is not started again, one that fails is tried at its next turn. */
  #every(milliseconds: number, what: string, task: () => Promise<void>): void {
    let trouble: string | null = null;
    const run = async (): Promise<void> => {
      try {
        await task();
        trouble = null;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== trouble) this.#options.log.warn(`${what} failed; it will be tried again`, { reason });
        trouble = reason;
      }
    };
    const next = (): void => {
      if (this.#isStopped) return;
      const startedAtMs = this.#options.monotonicMs();
      const running = run();
      this.#running.add(running);
      void running.finally(() => {
        this.#running.delete(running);
        arm(this.#options.monotonicMs() - startedAtMs);
      });
    };
    const arm = (tookMs: number): void => {
      if (!this.#isStopped) this.#timers.set(what, setTimeout(next, this.#untilNext(milliseconds, tookMs)));
    };
    arm(0);
  }

  /**
   * Nodes do not go in step. On one machine all tasks do, so that a process that has nothing to do is woken less often: 5.7 times a
   * second, most of it by the runtime itself.
   */
  #untilNext(periodMs: number, tookMs: number): number {
    const { cluster, monotonicMs, random } = this.#options;
    if (cluster !== null) return Math.max(0, periodMs * (0.9 + 0.2 * random()) - tookMs);
    const restMs = periodMs - (monotonicMs() % periodMs);
    // A timer may come a little early: the same turn is not taken twice.
    return restMs < periodMs * EARLY ? restMs + periodMs : restMs;
  }

  /** On one machine nothing is done until there is something to save: a process that has nothing to do is not woken for it. */
  async #syncLocalCounts(): Promise<void> {
    await this.#syncNow();
    if (this.#options.cluster !== null) return;
    await Promise.race([this.#options.engine.localLimits.untilUnsaved(), this.#stopped.promise]);
  }

  /** Where there is nobody to tell, saving takes a small part of the time: with very many counters the interval is stretched. */
  async #syncNow(): Promise<void> {
    const { engine, monotonicMs, cluster } = this.#options;
    engine.localLimits.tidy(engine.storage.ledger.nowMs(), FORGET_STEP);
    const startedAt = instantOf(this.#options);
    const startedAtMs = startedAt.monotonicMs;
    const counts = engine.localLimits.unsavedSize;
    const rests = startedAtMs < this.#saveAgainAtMs;
    if (cluster === null && (rests || counts === 0)) return;
    try {
      const isWritten = rests
        ? await engine.localLimits.syncIfHeard()
        : await engine.localLimits.sync().then(() => true);
      if (!isWritten) return;
      this.#syncedAt = startedAt;
    } catch (error) {
      if (cluster === null) this.#saveAgainAtMs = monotonicMs() + FAILED_SAVE_REST_MS;
      throw error;
    }
    const tookMs = monotonicMs() - startedAtMs;
    const { isShared, isAlone } = engine.storage.localCounts;
    this.#saveAgainAtMs = startedAtMs + saveRestMs({ counts, tookMs, isShared, isAlone });
  }

  /** Between two steps of a long task. */
  #restAfterSteps(): () => Promise<boolean> {
    const { monotonicMs, cluster } = this.#options;
    const beganAtMs = monotonicMs();
    let startedAtMs = beganAtMs;
    return async () => {
      const [tookMs, sinceMs] = [monotonicMs() - startedAtMs, monotonicMs() - beganAtMs];
      await this.#rest(stepRestMs({ tookMs, sinceMs, isShared: cluster !== null }));
      startedAtMs = monotonicMs();
      return !this.#isStopped;
    };
  }

  /** Until the service is to stop. */
  async #rest(milliseconds: number): Promise<void> {
    const rested = Promise.withResolvers<void>();
    const timer = setTimeout(rested.resolve, milliseconds);
    await Promise.race([rested.promise, this.#stopped.promise]);
    clearTimeout(timer);
  }

  async #watchTransactions(cluster: PostgresStorage): Promise<void> {
    this.#oldestTransactionMs = await cluster.oldestTransactionMs();
    if (this.#oldestTransactionMs < OLD_TRANSACTION_MS) return;
    this.#options.log.warn('a transaction on the database is open for long: busy counters become slow until it ends', {
      milliseconds: this.#oldestTransactionMs,
    });
  }

  #watchClock(): void {
    const { wallClockMs, monotonicMs, log } = this.#options;
    const offsetMs = wallClockMs() - monotonicMs();
    const jumpMs = Math.round(offsetMs - this.#clockOffsetMs);
    this.#clockOffsetMs = offsetMs;
    if (Math.abs(jumpMs) < CLOCK_JUMP_MS) return;
    log.warn('the wall clock jumped', { milliseconds: jumpMs });
  }
}
