import { AppError } from '../../core/errors.ts';
import { ABSENT, recordFence } from '../../core/fence.ts';
import type { PlanLimit } from '../../core/records.ts';
import type { KeyWithIdentity, PlanWithPermissions, PoisonedKey, Records } from '../../storage/port/records.ts';
import {
  type GivenLimits,
  type PlanEntry,
  type PlanSlot,
  asConfigured,
  orNone,
  toEntryPermissions,
} from './entries.ts';

/** How often a plan is read again because it changed meanwhile. */
const MAX_READS = 10;

/** Plans are kept apart from their holders: when one changes, it is read once, and no holder is. */
export class Plans {
  readonly #records: Pick<Records, 'findPlans'>;
  readonly #slots = new Map<string, PlanSlot>();
  /** By their numbers. */
  readonly #numbered: PlanSlot[] = [];

  constructor(records: Pick<Records, 'findPlans'>) {
    this.#records = records;
  }

  slot(id: string): PlanSlot {
    const known = this.#slots.get(id);
    if (known !== undefined) return known;
    const number = this.#numbered.length + 1;
    const slot: PlanSlot = { id, number, entry: null, reading: null, hasChanged: false, failure: null };
    this.#slots.set(id, slot);
    this.#numbered.push(slot);
    return slot;
  }

  slotAt(number: number): PlanSlot {
    return this.#numbered[number - 1] as PlanSlot;
  }

  drop(id: string): void {
    const slot = this.#slots.get(id);
    if (slot !== undefined) forget(slot);
  }

  /** Roles or permissions have changed. */
  dropAccess(): void {
    for (const slot of this.#slots.values()) if (slot.entry === null || slot.entry.permissions !== null) forget(slot);
  }

  /** No holder is cached any more. */
  clear(): void {
    for (const slot of this.#slots.values()) forget(slot);
    this.#slots.clear();
    this.#numbered.length = 0;
  }

  /** This entry is out of date. A newer one of the same plan stays. */
  dropEntry(plan: PlanEntry): void {
    if (this.#slots.get(plan.id)?.entry === plan) this.drop(plan.id);
  }

  /** Reads the plans of these keys, their own or those of their identities, that are not known. */
  async readOf(found: readonly (KeyWithIdentity | PoisonedKey | null)[]): Promise<void> {
    const ids = new Set<string>();
    for (const each of found) {
      const id = each === null || 'poisoned' in each ? null : planIdOf(each);
      if (id !== null) ids.add(id);
    }
    // A plan that cannot be read concerns its holders alone.
    await Promise.allSettled(Array.from(ids, (id) => this.read(this.slot(id))));
  }

  async read(slot: PlanSlot): Promise<void> {
    if (slot.entry !== null) return;
    slot.reading ??= this.#readOnce(slot);
    await slot.reading;
  }

  async #readOnce(slot: PlanSlot): Promise<void> {
    slot.failure = null;
    try {
      await this.#read(slot);
    } catch (error) {
      slot.failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      slot.reading = null;
    }
  }

  async #read(slot: PlanSlot): Promise<void> {
    for (let reads = 0; reads < MAX_READS; reads++) {
      slot.hasChanged = false;
      const [found] = await this.#records.findPlans([slot.id]);
      if (slot.hasChanged) continue;
      slot.entry = found === undefined ? missing(slot.id) : toPlanEntry(found);
      return;
    }
    throw new AppError('UNAVAILABLE', `The plan ${slot.id} keeps changing; nothing was spent. Try again.`);
  }
}

/** The plan of its identity, or the one that the key is on itself; null = none. */
function planIdOf({ key, identity }: KeyWithIdentity): string | null {
  return key.identityId === null ? key.planId : (identity?.planId ?? null);
}

function forget(slot: PlanSlot): void {
  slot.entry = null;
  slot.hasChanged = true;
}

const NOTHING_GIVEN: GivenLimits = { all: null, always: null };

function missing(id: string): PlanEntry {
  return {
    id,
    revision: ABSENT,
    record: null,
    forIdentities: NOTHING_GIVEN,
    forKeys: NOTHING_GIVEN,
    permissions: null,
    fence: recordFence('plan', id, ABSENT),
    traits: [],
  };
}

function toPlanEntry({ plan, permissions }: PlanWithPermissions): PlanEntry {
  const [broken] = permissions?.broken ?? [];
  if (broken !== undefined) {
    const reason = `${broken.id}: ${broken.reason}`;
    throw new AppError('INTERNAL_SERVER_ERROR', `The stored plan ${plan.id} cannot be read: ${reason}.`);
  }
  return {
    id: plan.id,
    revision: plan.revision,
    record: plan,
    forIdentities: given(plan.limits, true),
    forKeys: given(plan.limits, false),
    permissions: permissions === null ? null : toEntryPermissions(permissions),
    fence: recordFence('plan', plan.id, plan.revision),
    traits: [],
  };
}

function given(limits: readonly PlanLimit[], ofIdentity: boolean): GivenLimits {
  const all = limits.map((limit) => ({ ...asConfigured({ ...limit, account: null }), ofIdentity }));
  return { all: orNone(all), always: orNone(all.filter((_, i) => limits[i]?.autoApply !== false)) };
}
