import type { CreditsRecord } from '../../core/records.ts';
import type { DueCursor, Storage } from '../../storage/port/storage.ts';
import type { RefillPlans } from './refillPlans.ts';

/** Keys of one step: on one machine they are written in one commit, and the verifications go on between two steps. */
const STEP = 200;
/** Where the database is shared and may be far, each is a transaction of its own: management shall not wait behind many. */
const SHARED_STEP = 2;

/**
 * Writes down refills of keys and identities that nobody touches, so that a person who reads the table sees the numbers that a
 * verification would see. Nothing depends on it: every touch applies what has passed.
 */
export class RefillSweep {
  readonly #storage: Storage;
  readonly #refills: RefillPlans;
  readonly #step: number;
  #isStopped = false;

  constructor(storage: Storage, refills: RefillPlans) {
    this.#storage = storage;
    this.#refills = refills;
    this.#step = storage.localCounts.isShared ? SHARED_STEP : STEP;
  }

  /** One pass over all that is due; answers how many refills it wrote. */
  async run(): Promise<number> {
    const dueUntilMs = this.#storage.ledger.nowMs();
    let written = 0;
    let after: DueCursor | null = null;
    this.#isStopped = false;
    while (!this.#isStopped) {
      const due = await this.#storage.ledger.listDueRefills(dueUntilMs, this.#step, after);
      // Each by itself: one that fails is found again by the next pass, and holds up nobody.
      const results = await Promise.allSettled(due.map(({ owner }) => this.#writeDown(owner)));
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

  /** False when there is nothing to write. */
  async #writeDown(owner: string): Promise<boolean> {
    const { ledger } = this.#storage;
    const found = await this.#find(owner);
    if (found === null || found.credits === null || found.credits.refill === null) return false;
    const { account, refill } = found.credits;
    const plan = this.#refills.plan(refill, ledger.nowMs());
    const [state] = await ledger.read([account]);
    if (state === undefined || state.mark >= plan.epoch) return false;
    const { revision } = found;
    const change = { account, expect: revision, refill: plan, revision };
    return (await ledger.apply({ writes: [], accounts: [change] })).status === 'done';
  }

  async #find(owner: string): Promise<{ credits: CreditsRecord | null; revision: number } | null> {
    const { records } = this.#storage;
    if (!owner.startsWith('key_')) return records.findIdentityById(owner);
    const found = await records.findKey(owner);
    return found === null || 'poisoned' in found ? null : found.key;
  }
}
