import type { LimitRecord } from '../../core/records.ts';
import {
  type Sources,
  asConfigured,
  joined,
  orNone,
  withGiven,
  type IdentityEntry,
  type CachedEntry,
  type KeyEntry,
  type KeyExtras,
  type KeySide,
  NO_SOURCES,
  type PlanWindows,
  toExtras,
  withGivenPermissions,
  type EntryCredits,
  type PlanEntry,
  type PlanSlot,
} from './entries.ts';
import { COUNT_WORDS, PackedCounts, validCount, type KeyCounts, OpenCount } from './keyCounts.ts';
import {
  DIGEST_WORDS,
  readLong,
  isWord,
  readDigest,
  writeLong,
  RowIndex,
  Companions,
  SharedRecords,
} from './packed.ts';
import type { TextReader } from '../platform.ts';
import type { KeyRecord } from '../../model/keys.ts';
import type { CountColumns, CountedKey } from '../../core/verificationCounts.ts';
import { entryCredits, type Identities } from './identities.ts';
import type { LocalOwner } from '../localLimits.ts';
import type { KeyWithIdentity } from '../../storage/port/records.ts';

/** Length of `key_` and an id. */
const ID_LENGTH = 26;
const PACKABLE_ID = new RegExp(`^[!-~]{${ID_LENGTH}}$`);

/**
 * The words of a row: first the digest in groups of 24 bits (four characters of base64), then what verification needs, the
 * id, what counting needs. Together they are two lines of the processor's cache, which it fetches in one go. Among a
 * million keys that is what a verification waits for: with rows of 104 bytes and the ids elsewhere it took 0.8 us longer.
 */
const FLAGS = DIGEST_WORDS;
const REVISION = FLAGS + 1;
/** Numbers of what many keys share, 16 bits each. */
const LIMITS_AND_CREDITS = REVISION + 1;
const API = LIMITS_AND_CREDITS + 1;
const ID = API + 1;
const ACCOUNT = ID + Math.ceil(ID_LENGTH / 4);
const EXPIRES = ACCOUNT + 2;
const COUNTS = EXPIRES + 2;
const ROW = COUNTS + COUNT_WORDS;

/** Bits of the flags. */
const ENABLED = 1;
const HAS_CREDITS = 2;
const EXPIRES_AT_ALL = 4;
const LIVE = 8;
const HAS_IDENTITY = 16;
/** The key is on a plan itself. */
const HAS_PLAN = 32;

/** Its credits are counted without a balance. */
const IS_METERED = 64;

/** It has more data than fits into the row (KeySide). */
const HAS_SIDE = 128;

/** The 24 bits behind them are the row of the identity. There is at most one for each of KEYSTILE_MAX_CACHED_KEYS. */
const IDENTITY_SHIFT = 8;

function identityBits(row: number | null): number {
  return (row ?? 0) << IDENTITY_SHIFT;
}

/** null = it has none. */
export function identityRowOf(flags: number): number | null {
  return (flags & HAS_IDENTITY) === 0 ? null : flags >>> IDENTITY_SHIFT;
}

/** Deleting an identity or a plan leaves no key with it. A key whose source is missing all the same is refused: nothing would limit it. */
export function flagsOf(
  { enabled, credits, expiresAtMs, identityId, planId }: KeyRecord,
  { identityRow, planSlot }: Sources,
): number {
  const needsPlan = identityId === null && planId !== null;
  const isMissing = (identityId !== null && identityRow === null) || (needsPlan && planSlot === null);
  const source = identityRow !== null ? HAS_IDENTITY : planSlot !== null ? HAS_PLAN : 0;
  return (
    LIVE |
    (enabled && !isMissing ? ENABLED : 0) |
    (credits === null ? 0 : HAS_CREDITS) |
    (credits?.metered ? IS_METERED : 0) |
    (expiresAtMs === null ? 0 : EXPIRES_AT_ALL) |
    source |
    identityBits(identityRow)
  );
}

const encoder = new TextEncoder();

function isPackableId(id: string): boolean {
  return PACKABLE_ID.test(id);
}

/** A block of rows, one after the other. */
class RowMemory {
  words: Uint32Array<ArrayBuffer>;
  readonly #readerOf: TextReader;
  #read: (start: number, end: number) => string;

  constructor(rows: number, readerOf: TextReader) {
    this.words = new Uint32Array(rows * ROW);
    this.#readerOf = readerOf;
    this.#read = readerOf(this.words.buffer);
  }

  get capacity(): number {
    return this.words.length / ROW;
  }

  /** Rows keep their numbers: the block is copied as a whole. */
  grow(): void {
    const words = new Uint32Array(this.words.length * 2);
    words.set(this.words);
    this.words = words;
    this.#read = this.#readerOf(words.buffer);
  }

  word(row: number, word: number): number {
    return this.words[row * ROW + word] ?? 0;
  }

  account(row: number): number {
    return readLong(this.words, row * ROW + ACCOUNT);
  }

  limitsNumber(row: number): number {
    return this.word(row, LIMITS_AND_CREDITS) & 0xffff;
  }

  /** The number of its rules of credits; null = they are metered. */
  creditRules(row: number): number | null {
    return (this.word(row, FLAGS) & IS_METERED) === 0 ? this.word(row, LIMITS_AND_CREDITS) >>> 16 : null;
  }

  id(row: number): string {
    const start = (row * ROW + ID) * 4;
    return this.#read(start, start + ID_LENGTH);
  }

  writeId(row: number, id: string): void {
    encoder.encodeInto(id, new Uint8Array(this.words.buffer, (row * ROW + ID) * 4, ID_LENGTH));
  }
}

/** The first account of a key, and its limits with their accounts counted from there. */
interface CountedFrom {
  readonly first: number;
  readonly limits: readonly LimitRecord[];
}

/**
 * Accounts that were opened together have consecutive numbers. Counted from the first one, keys that were made alike share one list
 * of limits. Null: the numbers are not consecutive, because a limit was added later or another node took a number in between.
 * Every such distance would need a list of its own, and the number of lists is bounded.
 */
function countAccounts({ credits, limits }: KeyRecord): CountedFrom | null {
  const first = credits?.account ?? limits.find(({ account }) => account !== null)?.account ?? 0;
  let next = credits === null ? first : first + 1;
  const counted: LimitRecord[] = [];
  for (const limit of limits) {
    if (limit.account !== null && limit.account !== next++) return null;
    counted.push(limit.account === null ? limit : { ...limit, account: limit.account - first });
  }
  return { first, limits: counted };
}

const FIRST_ROWS = 1024;

/**
 * Keys as blocks of numbers, which the garbage collector does not walk through. Most keys have no name and no metadata,
 * and fit into a row. The others have an object beside theirs. With 100,000 keys as objects every collection walks
 * through all of them, which was measured to cost a quarter of the throughput.
 *
 * Rows are appended and never reused. When half of them are dropped, the others are packed again into new blocks.
 */
export class KeyRows implements KeyCounts {
  readonly #readerOf: TextReader;
  #rows: RowMemory;
  #index = new RowIndex(ROW, FIRST_ROWS);
  #companions = new RowObjects();
  #checks = new RowChecks(FIRST_ROWS);
  readonly #identities: Identities;
  #used = 0;
  #live = 0;
  #oldest = 0;
  /** The number of the first row. A number is never used twice, so an entry of an old block never finds a wrong row. */
  #firstNumber = 0;
  readonly generations = new PackedCounts();
  onDropped: (count: OpenCount, isSealed: boolean) => void = () => {};
  readonly #wanted = new Uint32Array(DIGEST_WORDS);
  #shared = new SharedRecords();

  constructor(readerOf: TextReader, identities: Identities) {
    this.#readerOf = readerOf;
    this.#identities = identities;
    this.#rows = new RowMemory(FIRST_ROWS, readerOf);
  }

  get size(): number {
    return this.#live;
  }

  /** Undefined: the key is not there, or its identity, its plan or that of its identity must be read again. */
  get(digest: string): CachedEntry | undefined {
    const row = this.#find(digest);
    if (row < 0) return undefined;
    const planSlot = this.#planSlot(row);
    const plan = planSlot === null ? null : planSlot.entry;
    if (planSlot !== null && plan === null) return undefined;
    const side = this.#side(row);
    const made = side === null ? null : side.entry;
    if (made !== null && made.plan === plan && made.identity?.isPresent !== false) return made;
    const identityRow = this.#identityRow(row);
    const identity = identityRow === null ? null : this.#identities.at(identityRow);
    if (identityRow !== null && identity === null) return undefined;
    if (side === null) return this.#toEntry(row, null, identity, plan);
    return (side.entry = this.#toEntry(row, side, this.#identities.share(identity), plan));
  }

  /** Null: the key is not there. */
  sourcesOf(digest: string): Sources | null {
    const row = this.#find(digest);
    return row < 0 ? null : { identityRow: this.#identityRow(row), planSlot: this.#planSlot(row) };
  }

  #identityRow(row: number): number | null {
    return identityRowOf(this.#rows.word(row, FLAGS));
  }

  /** null: the row says everything. */
  #side(row: number): KeySide | null {
    return (this.#rows.word(row, FLAGS) & HAS_SIDE) === 0 ? null : this.#companions.sides.at(row);
  }

  #planSlot(row: number): PlanSlot | null {
    return (this.#rows.word(row, FLAGS) & HAS_PLAN) === 0 ? null : this.#companions.plans.at(row);
  }

  /** The row of its identity is released with the key. */
  add(digest: string, found: KeyWithIdentity, sources: Sources = NO_SOURCES): void {
    const { key } = found;
    const extras = toExtras(found);
    const fields = extras === null ? packedFields(key, this.#shared) : null;
    const side = fields === null ? keySide(key, extras, this.#shared) : null;
    // Nothing fails from here on.
    this.delete(digest);
    this.#growOrPackAgain();
    const { words } = this.#rows;
    const row = this.#used++;
    const at = row * ROW;
    readDigest(digest, words.subarray(at, at + DIGEST_WORDS));
    words[at + FLAGS] = flagsOf(key, sources);
    writeLong(words, at + EXPIRES, key.expiresAtMs ?? 0);
    if (sources.planSlot !== null) this.#companions.plans.put(row, sources.planSlot);
    if (side !== null) this.#putSide(row, side);
    if (fields !== null) {
      words[at + API] = fields.api;
      words[at + LIMITS_AND_CREDITS] = fields.limits | (fields.credits << 16);
      words[at + REVISION] = key.revision;
      writeLong(words, at + ACCOUNT, fields.firstAccount);
      this.#rows.writeId(row, key.id);
    }
    this.#index.link(words, row);
    this.#live++;
  }

  #putSide(row: number, side: KeySide): void {
    this.#companions.sides.put(row, side);
    const flags = row * ROW + FLAGS;
    this.#rows.words[flags] = (this.#rows.words[flags] ?? 0) | HAS_SIDE;
  }

  delete(digest: string): void {
    const row = this.#find(digest);
    if (row >= 0) this.#drop(row);
  }

  dropApi(apiId: string): void {
    this.#companions.sides.forEach((side, row) => {
      if (side.apiId === apiId) this.#drop(row);
    });
    const api = this.#shared.apis.find(apiId);
    if (api === 0) return;
    for (let row = 0; row < this.#used; row++) {
      if (this.#rows.word(row, API) === api && (this.#rows.word(row, FLAGS) & LIVE) !== 0) this.#drop(row);
    }
  }

  /** Roles or permissions have changed. */
  dropAccess(): void {
    this.#companions.sides.forEach(({ extras }, row) => {
      if (extras !== null && extras.permissions !== null) this.#drop(row);
    });
  }

  dropOldest(): void {
    while (this.#oldest < this.#used) {
      const row = this.#oldest++;
      if ((this.#rows.word(row, FLAGS) & LIVE) !== 0) return this.#drop(row);
    }
  }

  /** The identities are cleared with the keys. */
  clear(): void {
    for (let row = 0; row < this.#used; row++) this.#tellCounts(row);
    this.#resize(FIRST_ROWS);
    this.#live = 0;
    this.generations.listAnew(this.#rows.words, COUNTS, ROW, this.#used);
    this.#shared = new SharedRecords();
  }

  count(entry: KeyEntry, credits: number, nowMs: number): boolean {
    const row = this.#rowOf(entry);
    return row >= 0 && this.generations.add(this.#rows.words, row * ROW + COUNTS, row, credits, nowMs);
  }

  keepLocal(entry: CachedEntry, owner: LocalOwner): void {
    entry.local = owner;
    if (entry.limits !== null) this.#remember(this.#companions.locals, entry, owner);
  }

  keepWindows(entry: CachedEntry, windows: PlanWindows): void {
    entry.windows = windows;
    this.#remember(this.#companions.windows, entry, windows);
  }

  checkedAt(entry: KeyEntry): number {
    const row = this.#rowOf(entry);
    return row < 0 ? 0 : this.#checks.at(row, entry);
  }

  keepChecked(entry: KeyEntry, checkedAt: number): void {
    const row = this.#rowOf(entry);
    if (row >= 0) this.#checks.put(row, entry, checkedAt);
  }

  /** Until the rows are packed again. */
  #remember<T>(companions: Companions<T>, entry: KeyEntry, companion: T): void {
    const row = this.#rowOf(entry);
    if (row >= 0) companions.put(row, companion);
  }

  takeSealed(into: CountColumns, limit: number): boolean {
    const taken = this.generations.takeSealed(this.#rows.words, COUNTS, ROW, limit);
    if (taken === null) return false;
    const { rows, minuteMs, counts, uses } = taken;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] ?? 0;
      const count = counts[i] ?? 0;
      if (count > 0) into.addValid(this.#counted(row), validCount(minuteMs, count, uses[i] ?? 0));
    }
    return true;
  }

  #tellCounts(row: number): void {
    for (const taken of this.generations.takeAll(this.#rows.words, row * ROW + COUNTS)) {
      this.onDropped(OpenCount.ofValid(this.#counted(row), taken), taken.isSealed);
    }
  }

  #counted(row: number): CountedKey {
    const side = this.#side(row);
    const identityRow = this.#identityRow(row);
    const identityId = identityRow === null ? '' : this.#identities.idOf(identityRow);
    return { apiId: this.#apiId(row, side), keyId: side?.id ?? this.#rows.id(row), identityId };
  }

  #apiId(row: number, side: KeySide | null): string {
    return side?.apiId ?? this.#shared.apis.at(this.#rows.word(row, API));
  }

  #toEntry(row: number, side: KeySide | null, identity: IdentityEntry | null, plan: PlanEntry | null): CachedEntry {
    const flags = this.#rows.word(row, FLAGS);
    const number = this.#rows.limitsNumber(row);
    const own = number === 0 ? (side?.limits ?? null) : this.#shared.limits.at(number);
    const limits = plan === null ? own : withGiven(own, plan.forKeys.all);
    const always = plan === null ? own : withGiven(own, plan.forKeys.always);
    return {
      id: side?.id ?? this.#rows.id(row),
      apiId: this.#apiId(row, side),
      revision: side?.revision ?? this.#rows.word(row, REVISION),
      enabled: (flags & ENABLED) !== 0,
      expiresAtMs: (flags & EXPIRES_AT_ALL) === 0 ? Infinity : readLong(this.#rows.words, row * ROW + EXPIRES),
      identity,
      plan,
      credits: (flags & HAS_CREDITS) === 0 ? null : this.#credits(row, side, plan),
      sharedCredits: identity === null ? null : identity.credits,
      limits,
      alwaysApplied: joined(always, identity?.alwaysApplied ?? null),
      accountsFrom: number === 0 ? 0 : this.#rows.account(row),
      extras: withGivenPermissions(side?.extras ?? null, (plan ?? identity?.plan)?.permissions ?? null),
      rowNumber: this.#firstNumber + row,
      local: limits === null ? null : this.#companions.locals.at(row),
      windows: plan === null ? null : this.#companions.windows.at(row),
      wire: null,
    };
  }

  #credits(row: number, side: KeySide | null, plan: PlanEntry | null): EntryCredits | null {
    if (side !== null) return entryCredits(side, plan?.record ?? null);
    return this.#shared.creditsOf(this.#rows.account(row), this.#rows.creditRules(row), plan);
  }

  /** -1: its row was dropped or packed again. */
  #rowOf(entry: KeyEntry): number {
    const row = (entry as CachedEntry).rowNumber - this.#firstNumber;
    return row < 0 || (this.#rows.word(row, FLAGS) & LIVE) === 0 ? -1 : row;
  }

  #find(digest: string): number {
    readDigest(digest, this.#wanted);
    return this.#index.find(this.#rows.words, this.#wanted);
  }

  #drop(row: number): void {
    this.#index.unlink(this.#rows.words, row);
    this.#tellCounts(row);
    this.#companions.drop(row);
    this.#identities.release(this.#identityRow(row));
    this.#rows.words[row * ROW + FLAGS] = 0;
    this.#live--;
  }

  #growOrPackAgain(): void {
    if (this.#used < this.#rows.capacity) return;
    if (this.#live * 2 <= this.#used) return this.#packAgain();
    this.#rows.grow();
    this.#checks.grow();
  }

  /** Half of the rows were dropped: the others move into new blocks of the same size. */
  #packAgain(): void {
    const [before, used, companions] = [this.#rows.words, this.#used, this.#companions];
    this.#resize(used);
    for (let row = 0; row < used; row++) {
      const at = row * ROW;
      if (((before[at + FLAGS] ?? 0) & LIVE) === 0) continue;
      this.#rows.words.set(before.subarray(at, at + ROW), this.#used * ROW);
      this.#companions.adopt(this.#used, companions, row);
      this.#index.link(this.#rows.words, this.#used++);
    }
    this.generations.listAnew(this.#rows.words, COUNTS, ROW, this.#used);
  }

  /** Creates empty blocks. Row numbers of the old blocks are invalid from now on. */
  #resize(rows: number): void {
    this.#firstNumber += this.#used;
    this.#rows = new RowMemory(rows, this.#readerOf);
    this.#index = new RowIndex(ROW, rows);
    this.#companions = new RowObjects();
    this.#checks = new RowChecks(rows);
    [this.#used, this.#oldest] = [0, 0];
  }
}

/** What the row of a key says of its api, limits and credits: numbers among the shared values. */
interface PackedFields {
  readonly api: number;
  readonly limits: number;
  readonly credits: number;
  readonly firstAccount: number;
}

/** Of a key without extras. null: it has more data than fits into a row all the same. */
function packedFields(key: KeyRecord, shared: SharedRecords): PackedFields | null {
  if (!isPackableId(key.id) || !isWord(key.revision)) return null;
  const accounts = countAccounts(key);
  if (accounts === null) return null;
  const api = shared.apis.indexOf(key.apiId, key.apiId);
  const limits = shared.limitsNumber(accounts.limits);
  const credits = shared.creditsNumber(key);
  if (api < 0 || limits < 0 || credits < 0) return null;
  return { api, limits, credits, firstAccount: accounts.first };
}

/** Beside the row of a key that has more data than fits into it. */
function keySide(key: KeyRecord, extras: KeyExtras | null, shared: SharedRecords): KeySide {
  const { id, apiId, revision, credits, alerts, limits } = key;
  const api = shared.apis.indexOf(apiId, apiId);
  return {
    id,
    // One string for all keys of an api.
    apiId: api < 0 ? apiId : shared.apis.at(api),
    revision,
    credits,
    alerts,
    limits: orNone(limits.map(asConfigured)),
    extras,
    entry: null,
  };
}

/** The objects that rows refer to, each for those rows that need it. */
class RowObjects {
  readonly sides = new Companions<KeySide>();
  readonly plans = new Companions<PlanSlot>();
  readonly locals = new Companions<LocalOwner>();
  readonly windows = new Companions<PlanWindows>();

  drop(row: number): void {
    for (const each of [this.sides, this.plans, this.locals, this.windows]) each.put(row, null);
  }

  /** A row has moved here, with what is part of the key. What was learned about it is learned again on use. */
  adopt(row: number, from: RowObjects, formerRow: number): void {
    const side = from.sides.at(formerRow);
    // The entry has the number of the former row.
    if (side !== null) side.entry = null;
    this.sides.put(row, side);
    this.plans.put(row, from.plans.at(formerRow));
  }
}

/** The numbers of one check: when the records were compared, and the revisions of the identity and of the plan then. */
const CHECK = 3;

type Holders = Pick<KeyEntry, 'identity' | 'plan'>;

/** For each cached key, when a ledger last compared the records that decide its spends (RecordsCheck). A new row has none. */
export class RowChecks {
  #numbers: Uint32Array;

  constructor(rows: number) {
    this.#numbers = new Uint32Array(rows * CHECK);
  }

  grow(): void {
    const numbers = new Uint32Array(this.#numbers.length * 2);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }

  /** A check of other revisions counts for nothing: 0. */
  at(row: number, entry: Holders): number {
    const [numbers, at] = [this.#numbers, row * CHECK];
    const isOfThese = numbers[at + 1] === identityRevision(entry) && numbers[at + 2] === planRevision(entry);
    return isOfThese ? (numbers[at] ?? 0) : 0;
  }

  put(row: number, entry: Holders, checkedAt: number): void {
    const [numbers, at] = [this.#numbers, row * CHECK];
    numbers[at] = checkedAt;
    numbers[at + 1] = identityRevision(entry);
    numbers[at + 2] = planRevision(entry);
  }
}

/** 0: there is none. */
function identityRevision({ identity }: Holders): number {
  return identity === null ? 0 : identity.revision;
}

/** Of the plan that the key or its identity is on. */
function planRevision({ plan, identity }: Holders): number {
  return (plan ?? identity?.plan)?.revision ?? 0;
}
