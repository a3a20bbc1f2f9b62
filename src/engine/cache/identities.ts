import type { IdentityRecord } from '../../core/records.ts';
import type { KeyWithIdentity, PoisonedKey, Records } from '../../storage/port/records.ts';
import type { IdentityEntry, IdentitySlot, PlanEntry, PlanSlot } from './keyEntry.ts';
import { toIdentityEntry } from './makeEntry.ts';
import { Plans } from './plans.ts';

/** The identities of cached keys: one object for all keys of an identity, with what its plan gives. */
export class Identities {
  readonly #slots = new Map<string, IdentitySlot>();
  readonly #plans: Plans;
  readonly #max: number;

  constructor(records: Pick<Records, 'findPlans'>, max: number) {
    this.#plans = new Plans(records);
    this.#max = max;
  }

  /** The identity with its plan as both are now; null: one of them must be read. */
  now(slot: IdentitySlot): IdentityEntry | null {
    const { entry } = slot;
    if (entry === null || entry.planSlot === null) return entry;
    // Also when the entry was made while the plan was unknown: without its plan nothing would limit it.
    if (entry.planSlot.entry === null) return null;
    if (entry.planSlot.entry === entry.plan) return entry;
    return (slot.entry = toIdentityEntry(entry.record, entry.planSlot));
  }

  /** The newest version that was read: two keys of an identity can arrive in another order than they were read. */
  keep(record: IdentityRecord): IdentitySlot {
    const slot = this.#slots.get(record.id) ?? this.#add(record.id);
    if (slot.entry === null || slot.entry.revision < record.revision) {
      slot.entry = toIdentityEntry(record, record.planId === null ? null : this.#plans.slot(record.planId));
    }
    return slot;
  }

  /** Reads the plans of the identities of these keys that are not known. */
  async readPlansOf(found: readonly (KeyWithIdentity | PoisonedKey | null)[]): Promise<void> {
    const planIds = new Set<string>();
    for (const each of found) {
      const planId = each === null || 'poisoned' in each ? null : (each.identity?.planId ?? null);
      if (planId !== null) planIds.add(planId);
    }
    // A plan that cannot be read concerns its holders alone.
    await Promise.allSettled(Array.from(planIds, (id) => this.read(this.#plans.slot(id))));
  }

  read(plan: PlanSlot): Promise<void> {
    return this.#plans.read(plan);
  }

  /** Why the plan of an identity cannot be read; null = it can, or nobody has tried. */
  failureOf({ entry }: IdentitySlot): Error | null {
    return entry?.planSlot?.failure ?? null;
  }

  /** The plan that must be read before an identity that is known can be used; null = none. */
  missingPlan(slot: IdentitySlot | null | undefined): PlanSlot | null {
    const plan = slot?.entry?.planSlot ?? null;
    return plan?.entry === null ? plan : null;
  }

  drop(id: string): void {
    const slot = this.#slots.get(id);
    if (slot !== undefined) slot.entry = null;
  }

  /** This entry is out of date. A newer one of the same identity stays. */
  dropEntry({ id, revision }: IdentityEntry): void {
    const slot = this.#slots.get(id);
    if (slot?.entry?.revision === revision) slot.entry = null;
  }

  dropPlan(id: string): void {
    this.#plans.drop(id);
  }

  /** This entry is out of date. A newer one of the same plan stays. */
  dropPlanEntry(plan: PlanEntry): void {
    if (this.#plans.slot(plan.id).entry === plan) this.#plans.drop(plan.id);
  }

  dropAccess(): void {
    this.#plans.dropAccess();
  }

  clear(): void {
    for (const slot of this.#slots.values()) slot.entry = null;
    this.#slots.clear();
    this.#plans.clear();
  }

  #add(id: string): IdentitySlot {
    if (this.#slots.size >= this.#max) this.#dropOldest();
    const slot: IdentitySlot = { id, entry: null };
    this.#slots.set(id, slot);
    return slot;
  }

  /** Its keys are looked up again when they are used. */
  #dropOldest(): void {
    const [oldest] = this.#slots.values();
    if (oldest === undefined) return;
    oldest.entry = null;
    this.#slots.delete(oldest.id);
  }
}
