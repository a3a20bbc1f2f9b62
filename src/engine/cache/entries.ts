import { type AddressBlock, parseBlock } from '../../core/address.ts';
import type { Alerts, CreditsRecord, HeldCredits, LimitRecord } from '../../core/records.ts';
import type { LocalOwner } from '../localLimits.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import type { Fence } from '../../core/fence.ts';
import { type Grant, type HeldPermissions, holdPermissions } from '../../core/permissions.ts';
import type { PlanRecord } from '../../model/plans.ts';
import { notReplaced } from '../../core/plan.ts';
import type { KeyPermissions, KeyWithIdentity } from '../../storage/port/records.ts';

/** Fields that most keys do not have. They are kept separately, so that a million plain keys fit in memory. */
export interface KeyExtras {
  readonly name: string | null;
  readonly meta: string | null;
  readonly environment: string | null;
  readonly allowedBlocks: readonly AddressBlock[] | null;
  readonly permissions: EntryPermissions | null;
  /** Until when the secret is valid that this entry was found by. Infinity = it was not replaced. */
  readonly secretUntilMs: number;
  /** From this instant on the key itself is on another plan. Infinity = it stays. */
  readonly planMovesAtMs: number;
}

/** The accounts of windows that a key has opened for strict limits of its own plan, while the plan stays as it is. */
export interface PlanWindows {
  /** All limits of the plan. A plan that has changed has others. */
  readonly limits: readonly AppliedLimit[];
  /** In the order of the limits. */
  readonly accounts: (number | undefined)[];
}

/** A key as verification needs it. Replaced as a whole when the key changes. Only the cache makes one. */
export interface KeyEntry {
  readonly id: string;
  readonly apiId: string;
  readonly revision: number;
  readonly enabled: boolean;
  /** Infinity = never. */
  readonly expiresAtMs: number;
  readonly identity: IdentityEntry | null;
  /** The plan that the key is on itself; null = none. A key that belongs to an identity uses the plan of the identity. */
  readonly plan: PlanEntry | null;
  readonly credits: EntryCredits | null;
  /** Those of its identity, which all keys of that share. */
  readonly sharedCredits: EntryCredits | null;
  /** Its own limits and those of its plan; null = none. */
  readonly limits: readonly AppliedLimit[] | null;
  /** The limits that apply to every verification: its own and those of its plan, then those of its identity. null = none. */
  readonly alwaysApplied: readonly AppliedLimit[] | null;
  readonly extras: KeyExtras | null;
  /** Where its own local limits and those of its plan are counted. Set by `KeyCache.keepLocal`. */
  readonly local: LocalOwner | null;
  /** The windows of its own plan; null = none yet. Set by `KeyCache.keepWindow`. */
  readonly windows: PlanWindows | null;
  /** The descriptive fields as text for answers, created with the first answer. */
  wire: WireText | null;
}

/** Part of an answer, and whether its characters are bytes. */
export interface WireText {
  readonly text: string;
  readonly isAscii: boolean;
}

/** Where a key finds what others give it: its identity, or the plan that it is on itself. It has at most one of both. */
export interface Sources {
  /** Its row among the identities; null = none. */
  readonly identityRow: number | null;
  readonly planSlot: PlanSlot | null;
}

export const NO_SOURCES: Sources = { identityRow: null, planSlot: null };

/** What the cache knows of an entry beside what verification needs. Every KeyEntry is one. */
export interface CachedEntry extends KeyEntry {
  /** The accounts of its limits count from this number: many keys share their limits. */
  readonly accountsFrom: number;
  /** Its number among the cached keys. */
  readonly rowNumber: number;
  local: LocalOwner | null;
  windows: PlanWindows | null;
}

/** What stands beside the row of a key that has more data than fits into it. It is used in place of the numbers of the row. */
export interface KeySide {
  readonly id: string;
  readonly apiId: string;
  readonly revision: number;
  readonly credits: CreditsRecord | null;
  readonly alerts: Alerts | null;
  readonly limits: readonly AppliedLimit[] | null;
  readonly extras: KeyExtras | null;
  /** With what its identity or its plan gave when it was made; null = not made yet. */
  entry: CachedEntry | null;
}

/** The account of a window that was opened for a strict limit of the plan; null = it must be asked for. */
export function windowOf({ identity, windows }: KeyEntry, limit: AppliedLimit): number | null {
  if (identity !== null) return identity.windowOf(limit);
  return windows === null ? null : (windows.accounts[windows.limits.indexOf(limit)] ?? null);
}

/** The windows of a key with one more. Those of a plan that has changed since are forgotten. */
export function withWindow(
  known: PlanWindows | null,
  limits: readonly AppliedLimit[],
  [limit, account]: readonly [AppliedLimit, number],
): PlanWindows {
  const windows = known?.limits === limits ? known : { limits, accounts: [] };
  windows.accounts[limits.indexOf(limit)] = account;
  return windows;
}

/** The account that a strict limit of this key, or of its identity, is counted in; null: the limit has none. */
export function accountOf(entry: KeyEntry, { account, ofIdentity }: AppliedLimit): number | null {
  if (account === null) return null;
  // The limits of an identity count from 0.
  return (ofIdentity ? 0 : (entry as CachedEntry).accountsFrom) + (account as unknown as number);
}

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

/** Credits as verification needs them. */
export interface EntryCredits extends HeldCredits {
  /** A balance below this one may have to be told of. */
  readonly tellsBelow: number;
}

/** What a key may do, as it was when the key was looked up. */
interface EntryPermissions {
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
  readonly grants: readonly Grant[];
  readonly held: HeldPermissions;
}

/** The limits that a plan gives, and those of them that apply to every verification; null = none. */
export interface GivenLimits {
  readonly all: readonly AppliedLimit[] | null;
  readonly always: readonly AppliedLimit[] | null;
}

/** A plan as verification needs it. All its holders share one object. */
export interface PlanEntry {
  readonly id: string;
  readonly revision: number;
  /** null: the plan does not exist. Its holders are refused, because nothing would limit them. */
  readonly record: PlanRecord | null;
  /** They count for the identity, which its keys share, or for a key that is on the plan itself. */
  readonly forIdentities: GivenLimits;
  readonly forKeys: GivenLimits;
  readonly permissions: EntryPermissions | null;
  readonly fence: Fence;
  /** What its identities have alike, by their kind (identities.ts). */
  readonly traits: IdentityTraits[];
}

/** Where the holders of a plan find it. */
export interface PlanSlot {
  readonly id: string;
  /** Among the plans in memory, from 1. */
  readonly number: number;
  /** null: it must be read again. */
  entry: PlanEntry | null;
  reading: Promise<void> | null;
  /** It has changed while it was being read. */
  hasChanged: boolean;
  /** Why the last read failed. */
  failure: Error | null;
}

/** What identities of one plan have alike. Those that have nothing else of their own share one object. */
export interface IdentityTraits {
  readonly enabled: boolean;
  readonly plan: PlanEntry | null;
  readonly planSlot: PlanSlot | null;
  readonly planMovesAtMs: number;
  readonly credits: Omit<EntryCredits, 'account'> | null;
  readonly limits: readonly AppliedLimit[] | null;
  readonly alwaysApplied: readonly AppliedLimit[] | null;
}

/** A limit that applies to a verification. */
export interface AppliedLimit {
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  readonly cost: number;
  /** The limit counts for the identity of the key, not for the key. */
  readonly ofIdentity: boolean;
  /** Its counter is not that of a configured limit. The number of such counters is bounded. */
  readonly isAdHoc: boolean;
  /** Account of a configured strict limit (`accountOf`); null: local, or an ad-hoc one whose account is asked for by name. */
  readonly account: LimitAccount | null;
  /** An event tells of the first refusal in each window. */
  readonly notify: boolean;
  /** What the wire layer made of it; made once, on the first answer. */
  wire: LimitWire | null;
}

/** The parts of an answer that stay the same while the limit does. */
export interface LimitWire {
  /** The text before the number that is left, in `ratelimit` and in an item of `ratelimits`. */
  readonly ownHead: string;
  readonly itemHead: string;
  /** The end of an item of `ratelimits`. */
  readonly keptEnd: string;
  readonly exceededEnd: string;
  readonly isAscii: boolean;
  /** The value of the header that says what is granted. */
  readonly policy: string;
  /** The value of the header that says what is left, up to the number. */
  readonly rateLimitHead: string;
  /** Both headers as lines, up to that number. */
  readonly linesHead: string;
}

declare const inCache: unique symbol;

/** The account of a configured strict limit. Keys share their limits, so only `accountOf` can tell the number. */
export interface LimitAccount {
  readonly [inCache]: true;
}

/** A limit as configured. It is kept with the key, so that it is not created again for every verification. */
export function asConfigured(configured: LimitRecord): AppliedLimit {
  const { name, limit, durationMs, async, notify = false } = configured;
  const account = configured.account as unknown as LimitAccount | null;
  return { name, limit, durationMs, async, cost: 1, ofIdentity: false, isAdHoc: false, account, notify, wire: null };
}

export function orNone(limits: readonly AppliedLimit[]): readonly AppliedLimit[] | null {
  return limits.length === 0 ? null : limits;
}

export function joined(
  own: readonly AppliedLimit[] | null,
  shared: readonly AppliedLimit[] | null,
): readonly AppliedLimit[] | null {
  return own === null || shared === null ? (own ?? shared) : [...own, ...shared];
}

/** The limits of a holder and those that its plan gives. `own`: all that it has, which replace those of the same name. */
export function withGiven(
  limits: readonly AppliedLimit[] | null,
  given: readonly AppliedLimit[] | null,
  own: readonly AppliedLimit[] | null = limits,
): readonly AppliedLimit[] | null {
  if (given === null || own === null) return joined(limits, given);
  const added = notReplaced(given, own);
  return added.length === 0 ? limits : joined(limits, added);
}

const NO_EXTRAS: KeyExtras = {
  name: null,
  meta: null,
  environment: null,
  allowedBlocks: null,
  permissions: null,
  secretUntilMs: Infinity,
  planMovesAtMs: Infinity,
};

/** null: the key has nothing of the kind. */
export function toExtras({ key, permissions, secretUntilMs }: KeyWithIdentity): KeyExtras | null {
  const { name, meta, environment, ipAllowlist, planMove } = key;
  const isPlain = name === null && meta === null && environment === null && ipAllowlist.length === 0;
  if (isPlain && permissions === null && secretUntilMs === null && planMove === null) return null;
  return {
    name,
    meta,
    environment,
    allowedBlocks: ipAllowlist.length === 0 ? null : ipAllowlist.flatMap((text) => parseBlock(text) ?? []),
    permissions: permissions === null ? null : toEntryPermissions(permissions),
    secretUntilMs: secretUntilMs ?? Infinity,
    planMovesAtMs: planMove?.atMs ?? Infinity,
  };
}

/** With what its plan or that of its identity gives. */
export function withGivenPermissions(own: KeyExtras | null, given: EntryPermissions | null): KeyExtras | null {
  if (given === null) return own;
  const [extras, permissions] = [own ?? NO_EXTRAS, own?.permissions ?? null];
  return { ...extras, permissions: permissions === null ? given : joinedPermissions(permissions, given) };
}

function joinedPermissions(own: EntryPermissions, given: EntryPermissions): EntryPermissions {
  const grants = [...own.grants, ...given.grants.filter(({ slug }) => !own.held.grants.has(slug))];
  const sorted = grants.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));
  return permissionsOf([...new Set([...own.roles, ...given.roles])].toSorted(), sorted);
}

export function toEntryPermissions({ roles, grants }: KeyPermissions): EntryPermissions {
  return permissionsOf(
    roles.map(({ name }) => name),
    grants,
  );
}

function permissionsOf(roles: readonly string[], grants: readonly Grant[]): EntryPermissions {
  return { roles, grants, permissions: grants.map(({ slug }) => slug), held: holdPermissions(grants) };
}

/** Nothing that JSON would write in another way. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;
const BYTE = 0xff;

export interface Names {
  readonly id: string;
  readonly externalId: string;
}

/** Answers repeat them as they are. */
export function arePlain({ id, externalId }: Names): boolean {
  return PLAIN_TEXT.test(id) && PLAIN_TEXT.test(externalId);
}

/** Where the names are in a text that has them: start and length of each, a byte for each number. */
export function namePlaces(text: string, { id, externalId }: Names): number {
  return text.indexOf(id) | (id.length << 8) | (text.indexOf(externalId) << 16) | (externalId.length << 24);
}

export function idStart(places: number): number {
  return places & BYTE;
}

export function idLength(places: number): number {
  return (places >>> 8) & BYTE;
}

function idIn(text: string, places: number): string {
  return text.slice(idStart(places), idStart(places) + idLength(places));
}

function externalIdIn(text: string, places: number): string {
  const start = (places >>> 16) & BYTE;
  return text.slice(start, start + (places >>> 24));
}
