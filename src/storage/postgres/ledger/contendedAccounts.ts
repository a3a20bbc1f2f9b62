import type { Lock } from './locks.ts';

/** How long an account stays contended after another transaction was found holding its row. */
const CONTENDED_MS = 3_000;

/** Accounts whose rows other nodes hold now and then. A committer of its own sends their spends and waits for the rows. */
export class ContendedAccounts {
  readonly #untilMs = new Map<Lock, number>();

  get size(): number {
    return this.#untilMs.size;
  }

  has(lock: Lock): boolean {
    return this.#untilMs.has(lock);
  }

  add(locks: readonly Lock[], nowMs: number): void {
    for (const lock of locks) {
      if (typeof lock !== 'number') continue;
      // Deleted first: the map stays in the order of time.
      this.#untilMs.delete(lock);
      this.#untilMs.set(lock, nowMs + CONTENDED_MS);
    }
  }

  forgetOld(nowMs: number): void {
    for (const [lock, untilMs] of this.#untilMs) {
      if (untilMs > nowMs) return;
      this.#untilMs.delete(lock);
    }
  }
}
