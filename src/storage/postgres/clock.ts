/** An answer is slow when it took twice as long as the quickest of late, and this. */
const SLOW_MS = 10;
/** How fast the quickest answer is forgotten. */
const FORGETTING = 1.02;

/**
 * The database's clock as a node knows it: its own, corrected by what was measured when the database last told the time.
 * Where a test brings the time, that is the ledger's clock too, and every call says so.
 */
export class LedgerClock {
  readonly #wallClockMs: () => number;
  readonly #isVirtual: boolean;
  #offsetMs = 0;
  #quickestMs = Infinity;

  constructor(wallClockMs: () => number, isVirtual: boolean) {
    this.#wallClockMs = wallClockMs;
    this.#isVirtual = isVirtual;
  }

  get offsetMs(): number {
    return this.#offsetMs;
  }

  nowMs(): number {
    return this.#wallClockMs() + this.#offsetMs;
  }

  /** What a call tells the database of the time: nothing, it has a clock of its own. */
  get said(): number | null {
    return this.#isVirtual ? this.#wallClockMs() : null;
  }

  /** The node's own time, to be handed to `observe` with the answer. */
  startMs(): number {
    return this.#wallClockMs();
  }

  /** The database told the time, somewhere between the asking and now. */
  observe(startedAtMs: number, databaseMs: number): void {
    if (this.#isVirtual) return;
    // A slow answer tells little: the time was read somewhere on its long way.
    const tookMs = this.#wallClockMs() - startedAtMs;
    this.#quickestMs = Math.min(this.#quickestMs * FORGETTING + 1, Math.max(0, tookMs));
    if (tookMs > 2 * this.#quickestMs + SLOW_MS) return;
    this.#offsetMs = Math.round(databaseMs - (startedAtMs + this.#wallClockMs()) / 2);
  }
}
