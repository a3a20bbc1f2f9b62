/** 100,000 keys that are in use at once are written down in some 8 seconds: that and the 4 to the next round are what a crash then loses of the load. */
const REST_PER_TALLY_MS = 0.08;
/** Of more keys each has few verifications, so that nearly each of these would be written by itself: it takes longer then. */
const MANY = 100_000;
const MAX_REST_PER_TALLY_MS = 0.4;
/** What was held up for longer is not made up for. */
const MAX_LAG_MS = 10_000;

/** How fast counts are written down. What writing takes, and what it has to wait for, is taken off the rests. */
export class TallyPace {
  readonly #monotonicMs: () => number;
  #restedAtMs: number;
  #lagMs = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#restedAtMs = monotonicMs();
  }

  /** How long to rest after so many counts, when `waiting` ones are to be written. */
  restMs(written: number, waiting: number): number {
    const perTallyMs = Math.min(REST_PER_TALLY_MS * Math.max(waiting / MANY, 1), MAX_REST_PER_TALLY_MS);
    const wantedMs = written * perTallyMs;
    const lagMs = Math.min(this.#lagMs + this.#monotonicMs() - this.#restedAtMs, MAX_LAG_MS);
    this.#lagMs = Math.max(0, lagMs - wantedMs);
    return Math.max(0, wantedMs - lagMs);
  }

  /** From now on it is writing again. A rest that was too long is not made up for. */
  rested(): void {
    this.#restedAtMs = this.#monotonicMs();
  }
}
