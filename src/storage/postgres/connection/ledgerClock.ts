import type { Clocks } from '../../../basics/clocks.ts';

/** An answer is slow if it took more than twice the time of the quickest recent one plus this. */
const SLOW_MS = 10;
/** How fast the quickest answer is forgotten. */
const FORGETTING = 1.02;

/**
 * The database's clock as a node knows it: the last time that the database reported, plus the monotonic time since. The node's wall clock
 * has no part in it, so setting that clock has no effect. Monotonic time stands still while the machine sleeps, so this clock is then
 * behind until the next poll. A node that slept for longer than KEYSTILE_STALE_MAX is not fresh, and polls before it answers.
 *
 * If a test gives the time, the database uses it too: it is sent with every call.
 */
export class LedgerClock {
  readonly #clocks: Clocks;
  readonly #isVirtual: boolean;
  /**
   * The time of the database's clock when the monotonic clock was at 0. Until the database has reported its time, the wall clock is used.
   */
  #originMs: number;
  #quickestMs = Infinity;

  constructor(clocks: Clocks, isVirtual: boolean) {
    this.#clocks = clocks;
    this.#isVirtual = isVirtual;
    this.#originMs = clocks.wallClockMs() - clocks.monotonicMs();
  }

  /** The database's clock minus the wall clock of this node. */
  get offsetMs(): number {
    return this.nowMs() - this.#clocks.wallClockMs();
  }

  nowMs(): number {
    if (this.#isVirtual) return this.#clocks.wallClockMs();
    return Math.floor(this.#originMs + this.#clocks.monotonicMs());
  }

  /** The time that a test gives, sent with every call; null = the database uses its own clock. */
  get givenMs(): number | null {
    return this.#isVirtual ? this.#clocks.wallClockMs() : null;
  }

  /** The monotonic time, to pass to `observe` with the answer. */
  startMs(): number {
    return this.#clocks.monotonicMs();
  }

  /** Called when the database has reported its time. It read its clock between the question and now, most likely in the middle. */
  observe(startedAtMs: number, databaseMs: number): void {
    if (this.#isVirtual) return;
    this.keepWithin(startedAtMs, databaseMs);
    // Ignore slow answers: their error can be as large as the round trip.
    const endedAtMs = this.#clocks.monotonicMs();
    const tookMs = endedAtMs - startedAtMs;
    this.#quickestMs = Math.min(this.#quickestMs * FORGETTING + 1, tookMs);
    if (tookMs > 2 * this.#quickestMs + SLOW_MS) return;
    this.#originMs = databaseMs - (startedAtMs + endedAtMs) / 2;
  }

  /**
   * The database certainly read its clock between the question and now. If this clock is outside that interval, it is wrong and moves to
   * the nearer end. A network that is slower in one direction makes it wrong by a few milliseconds.
   */
  keepWithin(startedAtMs: number, databaseMs: number): void {
    if (this.#isVirtual) return;
    const [latestMs, earliestMs] = [databaseMs - startedAtMs, databaseMs - this.#clocks.monotonicMs()];
    this.#originMs = Math.max(earliestMs, Math.min(latestMs, this.#originMs));
  }
}
