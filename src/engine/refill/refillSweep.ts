import { heldCredits } from '../../core/plan.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { DueCursor, Storage } from '../../storage/port/storage.ts';
import { planOf } from '../planOf.ts';
import type { RefillPlans } from './refillPlans.ts';

/** Keys of one step. SQLite writes them in one commit, and verifications continue between two steps. */
const STEP = 200;
/** On a shared database, which may be far away, each key is a transaction of its own. Management must not wait behind many. */
const SHARED_STEP = 2;

/**
 * Writes the refills of keys and identities that nobody uses, so that the table shows the same numbers as a verification. Nothing
 * depends on it: every use of an account applies the boundaries that have passed.
 */
export class RefillSweep {
  readonly #storage: Storage;
  readonly #refills: RefillPlans;
  readonly #step: number;
  #isStopped = false;

  readonly #movePlan: (identityId: string) => Promise<void>;

  constructor(storage: Storage, refills: RefillPlans, movePlan: (identityId: string) => Promise<void>) {
    this.#storage = storage;
    this.#refills = refills;
    this.#movePlan = movePlan;
    this.#step = storage.localCounts.isShared ? SHARED_STEP : STEP;
  }

  /** Goes once over all due refills. Answers how many it wrote. */
  async run(): Promise<number> {
    const dueUntilMs = this.#storage.ledger.nowMs();
    let written = 0;
    let after: DueCursor | null = null;
    this.#isStopped = false;
    while (!this.#isStopped) {
      const due = await this.#storage.ledger.listDueRefills(dueUntilMs, this.#step, after);
      // Each refill by itself: one that fails holds up no other, and the next run finds it again.
      const results = await Promise.allSettled(due.map(({ owner }) => this.#writeDown(owner)));
      written += results.filter((result) => result.status === 'fulfilled' && result.value).length;
      if (due.length < this.#step) break;
      after = due.at(-1) ?? null;
    }
    return written;
  }

  /** Ends a run after its present step. */
  stop(): void {
    this.#isStopped = true;
  }

  /** False when there was nothing to write, or the change was stale. */
  async #writeDown(owner: string): Promise<boolean> {
    const { ledger } = this.#storage;
    const found = await this.#find(owner);
    if (found === null || found.credits === null || found.credits.refill === null) return false;
    const { account, refill } = found.credits;
    const [state] = await ledger.read([account]);
    if (state === undefined) return false;
    const plan = this.#refills.planFrom(refill, state.mark, ledger.nowMs());
    if (state.mark >= plan.startMs && state.dueAtMs >= plan.nextMs) return false;
    const { revision } = found;
    const change = { account, expect: revision, refill: plan, revision };
    return (await ledger.apply({ writes: [], accounts: [change] })).status === 'done';
  }

  async #find(owner: string): Promise<{ credits: HeldCredits | null; revision: number } | null> {
    const { records } = this.#storage;
    if (!owner.startsWith('key_')) return this.#findIdentity(owner);
    const found = await records.findKey(owner);
    return found === null || 'poisoned' in found ? null : found.key;
  }

  /** On the plan that it is to have by now. */
  async #findIdentity(id: string): Promise<{ credits: HeldCredits | null; revision: number } | null> {
    const { records, ledger } = this.#storage;
    let found = await records.findIdentityById(id);
    if (found?.planMove != null && ledger.nowMs() >= found.planMove.atMs) {
      await this.#movePlan(id);
      found = await records.findIdentityById(id);
    }
    if (found === null) return null;
    return { credits: heldCredits(found.credits, await planOf(records, found)), revision: found.revision };
  }
}
