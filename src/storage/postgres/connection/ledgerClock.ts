import type { Clocks } from '../../../basics/clocks.ts';

/** An answer is slow when it took more than twice the time of the quickest recent one, plus this. */
const SLOW_MS = 10;
/** How fast the quickest answer is forgotten. */
const FORGETTING = 1.02;

/**
 * The database's clock as a node knows it: what the database told last, and the monotonic time that has passed since. The wall
 * clock of the node has no part in it, so setting that clock moves nothing. Monotonic time stands still while the machine
 * sleeps: then this clock is behind until the next poll. A node that slept for longer than KEYSTILE_STALE_MAX is not fresh, and
 * polls before it answers.
 *
 * Where a test gives the time, the database uses that too: it is sent with every call.
 */
export class LedgerClock {
  readonly #clocks: Clocks;
  readonly #isVirtual: boolean;
  /** What the database's clock showed when the monotonic clock was at 0. Until the database has told the time: the wall clock. */
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

  /** The time that a test gives, sent with every call; null: the database uses its own clock. */
  get givenMs(): number | null {
    return this.#isVirtual ? this.#clocks.wallClockMs() : null;
  }

  /** The monotonic time, to be handed to `observe` with the answer. */
  startMs(): number {
    return this.#clocks.monotonicMs();
  }

  /** The database has told the time. It read its clock between the question and now, most likely in the middle. */
  observe(startedAtMs: number, databaseMs: number): void {
    if (this.#isVirtual) return;
    this.keepWithin(startedAtMs, databaseMs);
    // Ignore slow answers: their error is up to the round trip.
    const endedAtMs = this.#clocks.monotonicMs();
    const tookMs = endedAtMs - startedAtMs;
    this.#quickestMs = Math.min(this.#quickestMs * FORGETTING + 1, tookMs);
    if (tookMs > 2 * this.#quickestMs + SLOW_MS) return;
    this.#originMs = databaseMs - (startedAtMs + endedAtMs) / 2;
  }

  /**
   * The database certainly read its clock between the question and now. If this clock is outside of that interval, it is wrong and moves to
   * the nearer end. A network that is slower in one direction makes it wrong by some milliseconds.
   */
  keepWithin(startedAtMs: number, databaseMs: number): void {
    if (this.#isVirtual) return;
    const [latestMs, earliestMs] = [databaseMs - startedAtMs, databaseMs - this.#clocks.monotonicMs()];
    this.#originMs = Math.max(earliestMs, Math.min(latestMs, this.#originMs));
  }
}
