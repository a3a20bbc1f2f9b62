import type { DueCursor, Ledger } from '../storage/port.ts';

/** Keys of one step: on one machine they are written in one commit, and the verifications go on between two steps. */
const STEP = 200;
/** Where the database is shared and may be far, each is a transaction of its own: management shall not wait behind many. */
const SHARED_STEP = 2;

/**
 * Writes down refills of keys and identities that nobody touches, so that a person who reads the table sees the numbers that a
 * verification would see. Nothing depends on it: every touch applies what has passed.
 */
export class RefillSweep {
  readonly #ledger: Ledger;
  readonly #applyRefill: (owner: string) => Promise<boolean>;
  readonly #step: number;
  #isStopped = false;

  constructor(ledger: Ledger, applyRefill: (owner: string) => Promise<boolean>, isShared: boolean) {
    this.#ledger = ledger;
    this.#applyRefill = applyRefill;
    this.#step = isShared ? SHARED_STEP : STEP;
  }

  /** One pass over all that is due; answers how many refills it wrote. */
  async run(): Promise<number> {
    const dueUntilMs = this.#ledger.nowMs();
    let written = 0;
    let after: DueCursor | null = null;
    this.#isStopped = false;
    while (!this.#isStopped) {
      const due = await this.#ledger.listDueRefills(dueUntilMs, this.#step, after);
      // Each by itself: one that fails is found again by the next pass, and holds up nobody.
      const results = await Promise.allSettled(due.map(({ owner }) => this.#applyRefill(owner)));
      written += results.filter((result) => result.status === 'fulfilled' && result.value).length;
      if (due.length < this.#step) break;
      after = due.at(-1) ?? null;
    }
    return written;
  }

  /** Ends a pass after the step that it is in. */
  stop(): void {
    this.#isStopped = true;
  }
}
