import type { Engine } from '../engine/engine.ts';
import type { Log } from '../log.ts';

const SWEEP_EVERY_MS = 30_000;
const PRUNE_EVERY_MS = 60_000;
/** A save that took t is followed by another after this many t at the earliest. */
const SAVE_REST = 20;
/** Owners of local counters that are looked at in one turn, whether they can be forgotten. */
const FORGET_STEP = 200;
/** A clock that moved by this much against the time that has passed was set by someone. */
const CLOCK_JUMP_MS = 2_000;

export interface BackgroundOptions {
  readonly engine: Engine;
  readonly log: Log;
  readonly syncIntervalMs: number;
  readonly wallClockMs: () => number;
  readonly monotonicMs: () => number;
}

/** What goes on behind the requests: saving local counts, writing refills down, removing what has ended. */
export class Background {
  readonly #options: BackgroundOptions;
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  readonly #running = new Set<Promise<void>>();
  #clockOffsetMs: number;
  #saveAgainAtMs = 0;

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
    this.#every(PRUNE_EVERY_MS, 'removing what has ended', async () => {
      await engine.storage.ledger.prune();
    });
  }

  /** Ends the timers and waits for what they have begun. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#options.engine.sweep.stop();
    await Promise.all(this.#running);
  }

  /** Each task by itself: one that is still running is not started again, one that fails is tried at its next turn. */
  #every(milliseconds: number, what: string, task: () => Promise<void>): void {
    let isRunning = false;
    let trouble: string | null = null;
    const run = async (): Promise<void> => {
      isRunning = true;
      try {
        await task();
        trouble = null;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== trouble) this.#options.log.warn(`${what} failed; it will be tried again`, { reason });
        trouble = reason;
      }
      isRunning = false;
    };
    const tick = (): void => {
      if (isRunning) return;
      const running = run();
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
    };
    this.#timers.push(setInterval(tick, milliseconds));
  }

  /** Saving takes at most a twentieth of the time: with very many counters the interval is stretched. */
  async #syncLocalCounts(): Promise<void> {
    const { engine, monotonicMs } = this.#options;
    engine.edge.forgetEnded(engine.storage.ledger.nowMs(), FORGET_STEP);
    const startedAtMs = monotonicMs();
    if (!engine.edge.hasToSync || startedAtMs < this.#saveAgainAtMs) return;
    await engine.edge.sync();
    this.#saveAgainAtMs = startedAtMs + (monotonicMs() - startedAtMs) * SAVE_REST;
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
