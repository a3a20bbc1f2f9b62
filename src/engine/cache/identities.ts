import { tellsBelow } from '../../core/alerts.ts';
import { heldCredits } from '../../core/plan.ts';
import type { Alerts, CreditsRecord } from '../../core/records.ts';
import {
  asConfigured,
  orNone,
  withGiven,
  type Sources,
  type EntryCredits,
  type IdentityTraits,
  type PlanSlot,
  type FurtherWindows,
  IdentityEntry,
  type IdentityNotes,
  type KeptIdentity,
  NO_WINDOW,
  arePlain,
  idLength,
  idStart,
  namePlaces,
  type Names,
} from './entries.ts';
import { isWord, Companions, readLong, writeLong } from './packed.ts';
import type { Plans } from './plans.ts';
import type { LocalOwner } from '../localLimits.ts';
import type { TextReader } from '../platform.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import type { PlanRecord } from '../../model/plans.ts';

/**
 * The identities of cached keys: one row for all keys of an identity. It is there as long as a key refers to it. Most identities
 * have nothing beside a plan and credits, and fit into a row. The others are kept as objects beside theirs.
 */
export class Identities implements IdentityNotes {
  readonly #plans: Plans;
  readonly #rows: IdentityRows;
  readonly #rowOf = new Map<string, number>();
  #kept = new Companions<KeptIdentity>();
  /** What keys with a side have of their identities. */
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

type TraitFields = Pick<IdentityRecord, 'enabled' | 'credits' | 'limits' | 'alerts' | 'planMove'>;

/** Kinds from here on are those of disabled identities. */
const DISABLED = 3;
/** By the last part of a kind. Which account it is does not matter to the traits. */
const CREDITS_OF_KIND: readonly (CreditsRecord | null)[] = [
  null,
  { account: 0, refill: null },
  { account: 0, refill: null, metered: true },
];

/** Identities of one plan with the same kind have the same traits; -1 = it has something of its own. */
function kindOf({ enabled, credits, limits, alerts, planMove }: TraitFields): number {
  if (limits.length > 0 || alerts !== null || planMove !== null || (credits?.refill ?? null) !== null) return -1;
  const counted = credits === null ? 0 : credits.metered === true ? 2 : 1;
  return enabled ? counted : counted + DISABLED;
}

/** The plan must have been read. */
function traitsOfKind(kind: number, planSlot: PlanSlot | null): IdentityTraits {
  const credits = CREDITS_OF_KIND[kind % DISABLED] ?? null;
  return makeTraits({ enabled: kind < DISABLED, credits, limits: [], alerts: null, planMove: null }, planSlot);
}

/** The plan must have been read. */
export function makeTraits(fields: TraitFields, planSlot: PlanSlot | null): IdentityTraits {
  const { enabled, limits, planMove } = fields;
  const plan = planSlot?.entry ?? null;
  const own = limits.map((limit) => ({ ...asConfigured(limit), ofIdentity: true }));
  const always = orNone(own.filter((_, i) => limits[i]?.autoApply !== false));
  return {
    enabled: enabled && (plan === null || plan.record !== null),
    plan,
    planSlot,
    planMovesAtMs: planMove?.atMs ?? Infinity,
    credits: withoutAccount(entryCredits(fields, plan?.record ?? null)),
    limits: withGiven(orNone(own), plan?.forIdentities.all ?? null),
    alwaysApplied: withGiven(always, plan?.forIdentities.always ?? null, orNone(own)),
  };
}

/** The credits of a holder under its own rules and those of its plan. */
export function entryCredits(
  { credits, alerts }: { readonly credits: CreditsRecord | null; readonly alerts: Alerts | null },
  plan: PlanRecord | null,
): EntryCredits | null {
  const held = heldCredits(credits, plan);
  return held === null ? null : { ...held, tellsBelow: held.metered ? 0 : tellsBelow(alerts, plan) };
}

function withoutAccount(credits: EntryCredits | null): IdentityTraits['credits'] {
  if (credits === null) return null;
  const { account: _account, ...shared } = credits;
  return shared;
}

/** The words of a row, in four lines of the processor's cache. The rest of the row is text, in which the names are found. */
const FLAGS = 0;
const EDITION = FLAGS + 1;
const REVISION = EDITION + 1;
const PLAN = REVISION + 1;
const ACCOUNT = PLAN + 1;
const FIRST_WINDOW = ACCOUNT + 2;
/** The revision of the plan that its windows were opened for. */
const WINDOWS_OF = FIRST_WINDOW + 2;
/** How many cached keys refer to it. */
const KEYS = WINDOWS_OF + 1;
/** Where in the text the names are. */
const PLACES = KEYS + 1;
const TEXT = PLACES + 1;
const ROW = 64;
const TEXT_BYTES = (ROW - TEXT) * 4;

/** Bits of the flags. Behind them are the kind, and the length of the text. */
const IS_KNOWN = 1;
const IS_KEPT = 2;
/** The text is the usual end of an answer. */
const HAS_END = 4;
const KIND_SHIFT = 8;
const TEXT_SHIFT = 24;
const KINDS = 0xff;

/** Rows of a page, as a power of two. */
const PAGE_SHIFT = 10;
const PAGE_MASK = 2 ** PAGE_SHIFT - 1;
const encoder = new TextEncoder();

/** What a row says of an identity. */
interface IdentityRow {
  readonly revision: number;
  /** The number of its plan; 0 = none. */
  readonly plan: number;
  /** null: it is kept as an object beside the row. */
  readonly kind: number | null;
  readonly account: number;
  readonly names: Names;
}

/**
 * Identities as numbers, in pages: a block that is copied to grow would stop all verifications for a tenth of a second at half a million.
 * Rows that no key refers to are used again.
 */
class IdentityRows {
  readonly #readerOf: TextReader;
  readonly #pages: Uint32Array<ArrayBuffer>[] = [];
  /** Of each page. */
  readonly #readers: ((start: number, end: number) => string)[] = [];
  #used = 0;
  #free: number[] = [];
  /** Not used twice while anything refers to it, so nothing that was read from a row is taken for what is there now. */
  #editions = 0;

  constructor(readerOf: TextReader) {
    this.#readerOf = readerOf;
  }

  /** A row that no key refers to. */
  add(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if ((this.#used & PAGE_MASK) === 0) this.#addPage();
    return this.#used++;
  }

  /** No key refers to it any more. */
  free(row: number): void {
    this.forget(row);
    this.#free.push(row);
  }

  clear(): void {
    this.#pages.length = 0;
    this.#readers.length = 0;
    this.#used = 0;
    this.#free = [];
  }

  write(row: number, { revision, plan, kind, account, names }: IdentityRow): void {
    const [words, at] = [this.#page(row), startOf(row)];
    words[at + FLAGS] = IS_KNOWN | (kind === null ? IS_KEPT : kind << KIND_SHIFT);
    words[at + EDITION] = ++this.#editions;
    words[at + REVISION] = revision;
    words[at + PLAN] = plan;
    writeLong(words, at + ACCOUNT, account);
    this.#clearWindows(row);
    if (kind !== null) this.#writeText(row, names.id + names.externalId, names);
  }

  /** The end of an answer about a usual key of the identity, which names it. False: it does not fit. */
  keepUsualEnd(row: number, text: string, names: Names): boolean {
    if (text.length > TEXT_BYTES) return false;
    this.#put(row, FLAGS, this.#word(row, FLAGS) | HAS_END);
    this.#writeText(row, text, names);
    return true;
  }

  hasUsualEnd(row: number): boolean {
    return (this.#word(row, FLAGS) & HAS_END) !== 0;
  }

  /** The identity must be read again. */
  forget(row: number): void {
    this.#put(row, FLAGS, this.#word(row, FLAGS) & ~IS_KNOWN);
    this.#put(row, EDITION, ++this.#editions);
  }

  /** One more key refers to it, or one fewer. Answers how many do. */
  changeKeys(row: number, by: 1 | -1): number {
    const keys = this.#word(row, KEYS) + by;
    // Released twice, a row would belong to two identities.
    if (keys < 0) throw new Error(`no key refers to the identity in row ${row}`);
    this.#put(row, KEYS, keys);
    return keys;
  }

  isKnown(row: number): boolean {
    return (this.#word(row, FLAGS) & IS_KNOWN) !== 0;
  }

  isKept(row: number): boolean {
    return (this.#word(row, FLAGS) & IS_KEPT) !== 0;
  }

  edition(row: number): number {
    return this.#word(row, EDITION);
  }

  revision(row: number): number {
    return this.#word(row, REVISION);
  }

  plan(row: number): number {
    return this.#word(row, PLAN);
  }

  kind(row: number): number {
    return (this.#word(row, FLAGS) >>> KIND_SHIFT) & KINDS;
  }

  account(row: number): number {
    return readLong(this.#page(row), startOf(row) + ACCOUNT);
  }

  /** Of an identity that is not kept as an object. */
  text(row: number): string {
    return this.#read(row, 0, this.#word(row, FLAGS) >>> TEXT_SHIFT);
  }

  /** Where its names are in the text: `idIn` and `externalIdIn`. */
  namePlaces(row: number): number {
    return this.#word(row, PLACES);
  }

  id(row: number): string {
    const places = this.#word(row, PLACES);
    return this.#read(row, idStart(places), idLength(places));
  }

  #writeText(row: number, text: string, names: Names): void {
    // The names may be read from this row, so they are found before it changes.
    const places = namePlaces(text, names);
    const flags = this.#word(row, FLAGS) & (2 ** TEXT_SHIFT - 1);
    this.#put(row, FLAGS, flags | (text.length << TEXT_SHIFT));
    this.#put(row, PLACES, places);
    encoder.encodeInto(text, new Uint8Array(this.#page(row).buffer, textStart(row), TEXT_BYTES));
  }

  /** Its windows were opened for this revision of the plan. */
  hasWindowsOf(row: number, planRevision: number): boolean {
    return this.#word(row, WINDOWS_OF) === planRevision;
  }

  firstWindow(row: number): number {
    return readLong(this.#page(row), startOf(row) + FIRST_WINDOW);
  }

  keepFirstWindow(row: number, account: number): void {
    writeLong(this.#page(row), startOf(row) + FIRST_WINDOW, account);
  }

  /** Windows for another plan are forgotten. */
  turnWindowsTo(row: number, planRevision: number): void {
    this.#clearWindows(row);
    this.#put(row, WINDOWS_OF, planRevision);
  }

  #clearWindows(row: number): void {
    this.#put(row, WINDOWS_OF, 0);
    writeLong(this.#page(row), startOf(row) + FIRST_WINDOW, 0);
  }

  #word(row: number, word: number): number {
    return this.#pages[row >>> PAGE_SHIFT]?.[startOf(row) + word] ?? 0;
  }

  #put(row: number, word: number, value: number): void {
    this.#page(row)[startOf(row) + word] = value;
  }

  /** Of a row that was added. */
  #page(row: number): Uint32Array<ArrayBuffer> {
    return this.#pages[row >>> PAGE_SHIFT] as Uint32Array<ArrayBuffer>;
  }

  /** A part of its text. */
  #read(row: number, from: number, length: number): string {
    const start = textStart(row) + from;
    return this.#readers[row >>> PAGE_SHIFT]?.(start, start + length) ?? '';
  }

  #addPage(): void {
    const words = new Uint32Array((PAGE_MASK + 1) * ROW);
    this.#pages.push(words);
    this.#readers.push(this.#readerOf(words.buffer));
  }
}

/** The first word of a row in its page. */
function startOf(row: number): number {
  return (row & PAGE_MASK) * ROW;
}

function textStart(row: number): number {
  return (startOf(row) + TEXT) * 4;
}
