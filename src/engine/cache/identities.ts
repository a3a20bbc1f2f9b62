import type { IdentityRecord } from '../../model/identities.ts';
import type { LocalOwner } from '../local/localWindow.ts';
import type { TextReader } from '../system.ts';
import type { Sources } from './cachedEntry.ts';
import {
  type FurtherWindows,
  IdentityEntry,
  type IdentityNotes,
  type KeptIdentity,
  NO_WINDOW,
} from './identityEntry.ts';
import type { KeyEntry } from './keyEntry.ts';
import { kindOf, makeTraits, traitsOfKind } from './identityTraits.ts';
import { arePlain } from './packed/identityNames.ts';
import { IdentityRows, TEXT_BYTES } from './packed/identityRows.ts';
import { isWord } from './packed/packedWords.ts';
import { Companions } from './packed/sharedValues.ts';
import type { IdentityTraits, PlanSlot } from './planEntry.ts';
import type { Plans } from './plans.ts';

/**
 * The identities of cached keys: one row for all keys of an identity. It is there as long as a key refers to it. Most identities
 * have nothing beside a plan and credits, and fit into a row. The others are kept as objects beside theirs.
 */
export class Identities implements IdentityNotes {
  readonly #plans: Plans;
  readonly #rows: IdentityRows;
  readonly #rowOf = new Map<string, number>();
  #kept = new Companions<KeptIdentity>();
  /** What keys that are kept as objects have of their identities. */
  #shared = new Companions<IdentityEntry>();
  #locals = new Companions<LocalOwner>();
  #furtherWindows = new Companions<FurtherWindows>();
  /** Usual ends of answers that do not fit into their rows. */
  #longEnds = new Companions<string>();
  /** Of identities without a plan, by their kind. */
  readonly #plainTraits: IdentityTraits[] = [];

  constructor(plans: Plans, readerOf: TextReader) {
    this.#plans = plans;
    this.#rows = new IdentityRows(readerOf);
  }

  /** How many are in memory. */
  get size(): number {
    return this.#rowOf.size;
  }

  /** The identity with its plan as both are now; null: one of them must be read. */
  at(row: number): IdentityEntry | null {
    const rows = this.#rows;
    if (!rows.isKnown(row)) return null;
    const kept = rows.isKept(row) ? this.#keptAt(row) : null;
    const traits = kept === null ? this.#traitsOf(row) : traitsNow(kept);
    if (traits === null) return null;
    const hasWindows = traits.plan !== null && rows.hasWindowsOf(row, traits.plan.revision);
    const text = kept === null ? rows.text(row) : '';
    return new IdentityEntry({
      notes: this,
      row,
      edition: rows.edition(row),
      revision: kept === null ? rows.revision(row) : kept.record.revision,
      traits,
      account: rows.account(row),
      firstWindow: hasWindows ? rows.firstWindow(row) : NO_WINDOW,
      furtherWindows: hasWindows ? this.#furtherWindows.at(row) : null,
      text,
      namePlaces: rows.namePlaces(row),
      usualEnd: rows.hasUsualEnd(row) ? text : this.#longEnds.at(row),
      kept,
    });
  }

  /** Also of an identity that must be read again. */
  idOf(row: number): string {
    return this.#kept.at(row)?.record.id ?? this.#rows.id(row);
  }

  /** What the sources of a key give as they are now; null: one of them must be read. */
  givenBy({ identityRow, planSlot }: Sources): Pick<KeyEntry, 'identity' | 'plan'> | null {
    const identity = identityRow === null ? null : this.at(identityRow);
    const plan = planSlot === null ? null : planSlot.entry;
    if ((identityRow !== null && identity === null) || (planSlot !== null && plan === null)) return null;
    return { identity, plan };
  }

  /** One entry for all keys that keep theirs. What one of them learns, such as a window, the others know. */
  share(entry: IdentityEntry | null): IdentityEntry | null {
    if (entry === null) return null;
    const shared = this.#shared.at(entry.row);
    if (shared?.isPresent === true) return shared;
    this.#shared.put(entry.row, entry);
    return entry;
  }

  /** The plan that a key follows: that of its identity, or its own. null = there is none, or the identity must be read again. */
  planSlotOf({ identityRow, planSlot }: Sources): PlanSlot | null {
    if (identityRow === null) return planSlot;
    if (!this.#rows.isKnown(identityRow)) return null;
    const kept = this.#kept.at(identityRow);
    return kept === null ? this.#planSlotAt(identityRow) : kept.planSlot;
  }

  /** The row of an identity, for one more key. Keeps the newest version: lookups may finish out of order. */
  keep(record: IdentityRecord): number {
    const row = this.#rowOf.get(record.id) ?? this.#add(record.id);
    this.#rows.changeKeys(row, 1);
    if (!this.#rows.isKnown(row) || this.#revisionOf(row) < record.revision) this.#write(row, record);
    return row;
  }

  /** A key does not refer to it any more. null: it has no identity. */
  release(row: number | null): void {
    if (row === null || this.#rows.changeKeys(row, -1) > 0) return;
    this.#rowOf.delete(this.idOf(row));
    this.#forgetCompanions(row);
    this.#rows.free(row);
  }

  drop(id: string): void {
    const row = this.#rowOf.get(id);
    if (row !== undefined) this.#rows.forget(row);
  }

  /** This entry is out of date. A newer one of the same identity stays. */
  dropEntry({ id, revision }: IdentityEntry): void {
    const row = this.#rowOf.get(id);
    if (row !== undefined && this.#revisionOf(row) === revision) this.#rows.forget(row);
  }

  /** No key is cached any more. */
  clear(): void {
    this.#rows.clear();
    this.#rowOf.clear();
    this.#kept = new Companions();
    this.#shared = new Companions();
    this.#locals = new Companions();
    this.#furtherWindows = new Companions();
    this.#longEnds = new Companions();
  }

  isUnchanged({ row, edition }: IdentityEntry): boolean {
    return this.#rows.edition(row) === edition;
  }

  localOf(entry: IdentityEntry): LocalOwner | null {
    return this.isUnchanged(entry) ? this.#locals.at(entry.row) : null;
  }

  keepLocal(entry: IdentityEntry, owner: LocalOwner): void {
    if (this.isUnchanged(entry)) this.#locals.put(entry.row, owner);
  }

  keepWindow(entry: IdentityEntry, index: number, account: number): void {
    const { row, plan } = entry;
    if (plan === null || !this.isUnchanged(entry)) return;
    if (!this.#rows.hasWindowsOf(row, plan.revision)) {
      this.#rows.turnWindowsTo(row, plan.revision);
      this.#furtherWindows.put(row, null);
    }
    if (index === 0) return this.#rows.keepFirstWindow(row, account);
    const further = this.#furtherWindows.at(row) ?? [];
    further[index] = account;
    this.#furtherWindows.put(row, further);
  }

  keepUsualEnd(entry: IdentityEntry, text: string): void {
    const { row } = entry;
    if (!this.isUnchanged(entry)) return;
    if (!this.#rows.keepUsualEnd(row, text, entry)) this.#longEnds.put(row, text);
  }

  #add(id: string): number {
    const row = this.#rows.add();
    this.#rowOf.set(id, row);
    return row;
  }

  #write(row: number, record: IdentityRecord): void {
    const { id, externalId, credits, revision } = record;
    this.#forgetCompanions(row);
    const planSlot = record.planId === null ? null : this.#plans.slot(record.planId);
    const isShort = id.length + externalId.length <= TEXT_BYTES;
    const isPacked = record.meta === null && isShort && arePlain(record) && isWord(revision);
    const kind = isPacked ? kindOf(record) : -1;
    if (kind < 0) this.#kept.put(row, { record, planSlot, traits: null, wire: null });
    this.#rows.write(row, {
      revision,
      plan: planSlot?.number ?? 0,
      kind: kind < 0 ? null : kind,
      account: credits?.account ?? 0,
      names: { id, externalId },
    });
  }

  /** A kept identity without its object would be a bug: the row may still have the text of another one. */
  #keptAt(row: number): KeptIdentity {
    const kept = this.#kept.at(row);
    if (kept === null) throw new Error(`the identity in row ${row} is not there`);
    return kept;
  }

  #revisionOf(row: number): number {
    return this.#kept.at(row)?.record.revision ?? this.#rows.revision(row);
  }

  #forgetCompanions(row: number): void {
    this.#kept.put(row, null);
    this.#shared.put(row, null);
    this.#locals.put(row, null);
    this.#furtherWindows.put(row, null);
    this.#longEnds.put(row, null);
  }

  /** Of an identity that is not kept as an object. */
  #planSlotAt(row: number): PlanSlot | null {
    const plan = this.#rows.plan(row);
    return plan === 0 ? null : this.#plans.slotAt(plan);
  }

  /** null: the plan must be read. */
  #traitsOf(row: number): IdentityTraits | null {
    const kind = this.#rows.kind(row);
    const planSlot = this.#planSlotAt(row);
    if (planSlot === null) return (this.#plainTraits[kind] ??= traitsOfKind(kind, null));
    return planSlot.entry === null ? null : (planSlot.entry.traits[kind] ??= traitsOfKind(kind, planSlot));
  }
}

/** null: the plan must be read. Without its plan nothing would limit the identity. */
function traitsNow(kept: KeptIdentity): IdentityTraits | null {
  const { record, planSlot, traits } = kept;
  if (planSlot !== null && planSlot.entry === null) return null;
  if (traits !== null && traits.plan === (planSlot?.entry ?? null)) return traits;
  return (kept.traits = makeTraits(record, planSlot));
}
