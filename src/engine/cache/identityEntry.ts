import type { IdentityRecord } from '../../model/identities.ts';
import type { LocalOwner } from '../local/localWindow.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import { externalIdIn, idIn } from './identityRows.ts';
import type { EntryCredits, IdentityTraits, PlanEntry, PlanSlot } from './planEntry.ts';

/** Instead of the account of a window: none was opened yet. */
export const NO_WINDOW = 0;

/** Parts of an answer about a key of an identity. */
export interface IdentityWireText {
  readonly ownerId: string;
  readonly identity: string;
  readonly isAscii: boolean;
}

/** An identity with more data than fits into a row. */
export interface KeptIdentity {
  readonly record: IdentityRecord;
  readonly planSlot: PlanSlot | null;
  /** With what its plan gave when they were made; null = not made yet. */
  traits: IdentityTraits | null;
  /** null = not made yet. */
  wire: IdentityWireText | null;
}

/** Keeps what is learned about an identity, until that changes. */
export interface IdentityNotes {
  /** The identity is as it was when the entry was made. Of its plan this says nothing. */
  isUnchanged(entry: IdentityEntry): boolean;
  idOf(row: number): string;
  localOf(entry: IdentityEntry): LocalOwner | null;
  keepLocal(entry: IdentityEntry, owner: LocalOwner): void;
  /** `index`: of the limit among those of its plan. */
  keepWindow(entry: IdentityEntry, index: number, account: number): void;
  keepUsualEnd(entry: IdentityEntry, text: string): void;
}

/** The accounts of windows for limits of a plan, by the index of the limit. The first one is kept elsewhere. */
export type FurtherWindows = (number | undefined)[];

/** What an entry is made of. */
interface IdentityParts {
  readonly notes: IdentityNotes;
  /** Where it was found, and which edition of that row it is. */
  readonly row: number;
  readonly edition: number;
  readonly revision: number;
  readonly traits: IdentityTraits;
  /** Of its credits; not used when it has none. */
  readonly account: number;
  readonly firstWindow: number;
  readonly furtherWindows: FurtherWindows | null;
  /** Of a packed one: a text that names it, and where in it the names are. */
  readonly text: string;
  readonly namePlaces: number;
  readonly usualEnd: string | null;
  readonly kept: KeptIdentity | null;
}

/**
 * An identity as verification needs it, with what its plan gives. It is put together for a request and says what was true then, also when
 * the identity changes before the request is answered.
 */
export class IdentityEntry {
  readonly revision: number;
  readonly row: number;
  readonly edition: number;
  /** null = it is packed: its external id is plain text, and it has no metadata. */
  readonly kept: KeptIdentity | null;
  /** The end of an answer about a usual key: one that is enabled, does not expire and has nothing to describe. null = not made yet. */
  usualEnd: string | null;
  readonly #notes: IdentityNotes;
  readonly #traits: IdentityTraits;
  readonly #account: number;
  readonly #text: string;
  readonly #namePlaces: number;
  #firstWindow: number;
  #furtherWindows: FurtherWindows | null;

  constructor(parts: IdentityParts) {
    this.revision = parts.revision;
    this.row = parts.row;
    this.edition = parts.edition;
    this.kept = parts.kept;
    this.usualEnd = parts.usualEnd;
    this.#notes = parts.notes;
    this.#traits = parts.traits;
    this.#account = parts.account;
    this.#text = parts.text;
    this.#namePlaces = parts.namePlaces;
    this.#firstWindow = parts.firstWindow;
    this.#furtherWindows = parts.furtherWindows;
  }

  /** Neither the identity nor its plan has changed since. A plan that must be read has. */
  get isPresent(): boolean {
    const { plan, planSlot } = this.#traits;
    return this.#notes.isUnchanged(this) && (planSlot === null || (planSlot.entry !== null && planSlot.entry === plan));
  }

  /** Ids are often kept for long, and a part of the text would keep all of it in memory. So it is read anew where that is possible. */
  get id(): string {
    if (this.kept !== null) return this.kept.record.id;
    return this.#notes.isUnchanged(this) ? this.#notes.idOf(this.row) : idIn(this.#text, this.#namePlaces);
  }

  get externalId(): string {
    return this.kept === null ? externalIdIn(this.#text, this.#namePlaces) : this.kept.record.externalId;
  }

  get meta(): string | null {
    return this.kept?.record.meta ?? null;
  }

  /** Of a packed one. The text names it. */
  keepUsualEnd(text: string): void {
    this.usualEnd = text;
    this.#notes.keepUsualEnd(this, text);
  }

  get enabled(): boolean {
    return this.#traits.enabled;
  }

  /** The plan that is part of it; null = none. */
  get plan(): PlanEntry | null {
    return this.#traits.plan;
  }

  /** From this instant on it is on another plan. Infinity = it stays. */
  get planMovesAtMs(): number {
    return this.#traits.planMovesAtMs;
  }

  get credits(): EntryCredits | null {
    const { credits } = this.#traits;
    if (credits === null) return null;
    const { refill, metered, tellsBelow } = credits;
    const held = { account: this.#account, refill, tellsBelow };
    return metered === undefined ? held : { ...held, metered };
  }

  /** null = none. */
  get limits(): readonly AppliedLimit[] | null {
    return this.#traits.limits;
  }

  /** Those of its limits that apply to every verification of its keys; null = none. */
  get alwaysApplied(): readonly AppliedLimit[] | null {
    return this.#traits.alwaysApplied;
  }

  /** Where its local limits are counted; null = not known yet. */
  get local(): LocalOwner | null {
    return this.#notes.localOf(this);
  }

  keepLocal(owner: LocalOwner): void {
    this.#notes.keepLocal(this, owner);
  }

  /** The account of a window that was opened for a strict limit of its plan; null = it must be asked for. */
  windowOf(limit: AppliedLimit): number | null {
    const index = this.#indexOf(limit);
    if (index > 0) return this.#furtherWindows?.[index] ?? null;
    return index < 0 || this.#firstWindow === NO_WINDOW ? null : this.#firstWindow;
  }

  keepWindow(limit: AppliedLimit, account: number): void {
    const index = this.#indexOf(limit);
    if (index < 0) return;
    if (index === 0) this.#firstWindow = account;
    else (this.#furtherWindows ??= [])[index] = account;
    this.#notes.keepWindow(this, index, account);
  }

  /** -1: it is no limit of the plan. A limit with the cost of a request is another object with every request. */
  #indexOf(limit: AppliedLimit): number {
    return this.#traits.plan?.forIdentities.all?.indexOf(limit) ?? -1;
  }
}
