import type { IdentityRecord } from '../../core/records.ts';
import { IdentityEntry, IdentitySlot } from './identityEntry.ts';
import type { Plans } from './plans.ts';

/** The identities of cached keys: one object for all keys of an identity, with what its plan gives. */
export class Identities {
  readonly #slots = new Map<string, IdentitySlot>();
  readonly #plans: Plans;
  readonly #max: number;

  constructor(plans: Plans, max: number) {
    this.#plans = plans;
    this.#max = max;
  }

  /** The identity with its plan as both are now; null: one of them must be read. */
  now(slot: IdentitySlot): IdentityEntry | null {
    const { entry } = slot;
    if (entry === null || entry.isPresent) return entry;
    // Also when the entry was made while the plan was unknown: without its plan nothing would limit it.
    if (entry.planSlot?.entry === null) return null;
    slot.replace(new IdentityEntry(entry.record, entry.planSlot, slot));
    return slot.entry;
  }

  /** Keeps the newest version: lookups may finish out of order. */
  keep(record: IdentityRecord): IdentitySlot {
    const slot = this.#slots.get(record.id) ?? this.#add(record.id);
    if (slot.entry === null || slot.entry.revision < record.revision) {
      const planSlot = record.planId === null ? null : this.#plans.slot(record.planId);
      slot.replace(new IdentityEntry(record, planSlot, slot));
    }
    return slot;
  }

  drop(id: string): void {
    this.#slots.get(id)?.replace(null);
  }

  /** This entry is out of date. A newer one of the same identity stays. */
  dropEntry({ id, revision }: IdentityEntry): void {
    const slot = this.#slots.get(id);
    if (slot?.entry?.revision === revision) slot.replace(null);
  }

  clear(): void {
    for (const slot of this.#slots.values()) slot.replace(null);
    this.#slots.clear();
  }

  #add(id: string): IdentitySlot {
    if (this.#slots.size >= this.#max) this.#dropOldest();
    const slot = new IdentitySlot(id);
    this.#slots.set(id, slot);
    return slot;
  }

  /** Its keys are looked up again when they are used. */
  #dropOldest(): void {
    const [oldest] = this.#slots.values();
    if (oldest === undefined) return;
    oldest.replace(null);
    this.#slots.delete(oldest.id);
  }
}
