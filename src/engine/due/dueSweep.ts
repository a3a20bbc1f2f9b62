import type { RefillPlan } from '../../core/account.ts';
import { heldCredits } from '../../core/plan.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { DueCursor, ReadAccount, Storage } from '../../storage/port/storage.ts';
import type { EventMaker } from '../admin/change/eventMaker.ts';
import { ExpireReservations } from './expireReservations.ts';
import { findHolder, planOf, readMoved } from '../planOf.ts';
import type { RefillPlans } from '../refill/refillPlans.ts';

/** Keys of one step. SQLite writes them in one commit, and verifications continue between two steps. */
const STEP = 200;
/** On a shared database, which may be far away, each key is a transaction of its own. Management must not wait behind many. */
const SHARED_STEP = 2;

/** The credits of a key or identity, and the refill that is due to them. */
interface DueAccount {
  readonly account: number;
  readonly state: ReadAccount;
  readonly plan: RefillPlan | null;
  readonly revision: number;
}

export interface SweepContext {
  readonly storage: Storage;
  readonly refills: RefillPlans;
  readonly events: EventMaker;
  readonly movePlan: (holderId: string) => Promise<void>;
}

/**
 * Writes the refills and expiries of keys and identities that nobody uses, so that the table shows the same numbers as a verification.
 * A verification applies a refill itself. When grants or reservations are involved, it asks for `settle` first.
 */
export class DueSweep {
  readonly #storage: Storage;
  readonly #refills: RefillPlans;
  readonly expireReservations: ExpireReservations;
  readonly #movePlan: (identityId: string) => Promise<void>;
  readonly #step: number;
  /** The run of each owner that is being settled. Callers that ask meanwhile wait for the same run. */
  readonly #settling = new Map<string, Promise<boolean>>();
  #isStopped = false;

  constructor({ storage, refills, events, movePlan }: SweepContext) {
    this.#storage = storage;
    this.#refills = refills;
    this.#movePlan = movePlan;
    this.expireReservations = new ExpireReservations(storage, events, this);
    this.#step = storage.localCounts.isShared ? SHARED_STEP : STEP;
  }

  /** Goes once over all that is due. Answers how many it wrote. */
  async run(): Promise<number> {
    const dueUntilMs = this.#storage.ledger.nowMs();
    let written = 0;
    let after: DueCursor | null = null;
    this.#isStopped = false;
    while (!this.#isStopped) {
      const due = await this.#storage.ledger.listDue(dueUntilMs, this.#step, after);
      // Each owner by itself: one that fails holds up no other, and the next run finds it again.
      const results = await Promise.allSettled(due.map(({ owner }) => this.settle(owner)));
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

  /**
   * Applies all that is due to the credits of a key or identity: reservations and grants that have expired, and refills. False when there
   * was nothing to write, or the change was stale.
   */
  settle(owner: string): Promise<boolean> {
    const running = this.#settling.get(owner);
    if (running !== undefined) return running;
    const settling = this.#settle(owner).finally(() => this.#settling.delete(owner));
    this.#settling.set(owner, settling);
    return settling;
  }

  async #settle(owner: string): Promise<boolean> {
    const due = await this.#read(owner);
    if ((due?.state.pockets?.held ?? 0) === 0) return this.#apply(owner, due);
    await this.expireReservations.ofOwner(owner);
    return this.#apply(owner, await this.#read(owner));
  }

  async boundaryOf(owner: string): Promise<number | null> {
    const due = await this.#read(owner);
    return due !== null && due.plan !== null && due.state.mark < due.plan.startMs ? due.plan.startMs : null;
  }

  async applyRefill(owner: string): Promise<void> {
    await this.#apply(owner, await this.#read(owner));
  }

  async #read(owner: string): Promise<DueAccount | null> {
    const { ledger } = this.#storage;
    const found = await this.#find(owner);
    if (found === null || found.credits === null) return null;
    const { account, refill } = found.credits;
    const [state] = await ledger.read([account]);
    if (state === undefined) return null;
    const plan = refill === null ? null : this.#refills.planFrom(refill, state.mark, ledger.nowMs());
    return { account, state, plan, revision: found.revision };
  }

  async #apply(owner: string, due: DueAccount | null): Promise<boolean> {
    if (due === null) return false;
    const { ledger, reservations } = this.#storage;
    const { account, state, plan, revision } = due;
    if (plan === null && state.dueAtMs === 0) return false;
    const isDue = state.dueAtMs !== 0 && ledger.nowMs() >= state.dueAtMs;
    if (plan !== null && !isDue && state.mark >= plan.startMs && state.dueAtMs !== 0) return false;
    const change = {
      account,
      expect: revision,
      refill: plan,
      dueAtMs: plan?.nextMs ?? 0,
      ...(state.pockets === undefined ? {} : { heldUntilMs: await reservations.nextExpiryOf(owner) }),
      revision,
    };
    return (await ledger.apply({ writes: [], accounts: [change] })).status === 'done';
  }

  /** On the plan that it is to have by now. */
  async #find(owner: string): Promise<{ credits: HeldCredits | null; revision: number } | null> {
    const { records } = this.#storage;
    const mover = { storage: this.#storage, movePlan: this.#movePlan };
    const read = () => findHolder(records, owner);
    const found = await readMoved(mover, read, (holder) => (holder === null ? [] : [holder.record]));
    if (found === null) return null;
    const { credits, revision } = found.record;
    return { credits: heldCredits(credits, await planOf(records, found.record)), revision };
  }
}
