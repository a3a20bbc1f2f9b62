import type { CountColumns, CountedKey } from '../../../core/verificationCounts.ts';
import type { KeyWithIdentity } from '../../../storage/port/records.ts';
import type { LocalOwner } from '../../local/localWindow.ts';
import type { TextReader } from '../../system.ts';
import { type CachedEntry, NO_SOURCES, type Sources } from '../cachedEntry.ts';
import type { KeyCounts } from '../keyCounts.ts';
import type { Identities } from '../identities.ts';
import type { IdentityEntry } from '../identityEntry.ts';
import type { KeyEntry, PlanWindows } from '../keyEntry.ts';
import type { PlanEntry, PlanSlot } from '../planEntry.ts';
import { joined, withGiven } from '../limitLists.ts';
import { withPermissions } from '../makeEntry.ts';
import { OpenCount } from '../openCount.ts';
import { packedFields } from './packedFields.ts';
import { PackedCounts, validCount } from './packedCounts.ts';
import {
  ACCOUNT,
  API,
  COUNTS,
  ENABLED,
  EXPIRES,
  EXPIRES_AT_ALL,
  FLAGS,
  HAS_CREDITS,
  HAS_PLAN,
  identityRowOf,
  LIMITS_AND_CREDITS,
  LIVE,
  REVISION,
  ROW,
  RowMemory,
} from './rowLayout.ts';
import { DIGEST_WORDS, readDigest, readLong, writeLong } from './packedWords.ts';
import { RowCompanions } from './rowCompanions.ts';
import { SharedRecords } from './sharedRecords.ts';
import type { Companions } from './sharedValues.ts';
import { RowIndex } from './rowIndex.ts';
import { RowNotes } from './rowNotes.ts';

const FIRST_ROWS = 1024;

/**
 * Keys as blocks of numbers, which the garbage collector does not walk through. Most keys have no name and no metadata,
 * and fit into a row (rowLayout.ts). With 100,000 keys as objects every collection walks through all of them, which was measured
 * to cost a quarter of the throughput.
 *
 * Rows are appended and never reused. When half of them are dropped, the others are packed again into new blocks.
 */
export class PackedKeys implements KeyCounts {
  readonly #readerOf: TextReader;
  #rows: RowMemory;
  #index = new RowIndex(ROW, FIRST_ROWS);
  #companions = new RowCompanions();
  #notes = new RowNotes(FIRST_ROWS);
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
    const identityRow = this.#identityRow(row);
    const identity = identityRow === null ? null : this.#identities.at(identityRow);
    if (identityRow !== null && identity === null) return undefined;
    const planSlot = this.#planSlot(row);
    const plan = planSlot === null ? null : planSlot.entry;
    return planSlot !== null && plan === null ? undefined : this.#toEntry(row, identity, plan);
  }

  /** Null: the key is not there. */
  sourcesOf(digest: string): Sources | null {
    const row = this.#find(digest);
    return row < 0 ? null : { identityRow: this.#identityRow(row), planSlot: this.#planSlot(row) };
  }

  #identityRow(row: number): number | null {
    return identityRowOf(this.#rows.word(row, FLAGS));
  }

  #planSlot(row: number): PlanSlot | null {
    return (this.#rows.word(row, FLAGS) & HAS_PLAN) === 0 ? null : this.#companions.plans.at(row);
  }

  /** The row of its identity is released with the key. False: the key has more data than fits into a row. */
  add(digest: string, found: KeyWithIdentity, { identityRow, planSlot }: Sources = NO_SOURCES): boolean {
    const fields = packedFields(found, { identityRow, planSlot }, this.#shared);
    if (fields === null) return false;
    const { key } = found;
    const { flags, api, limits, credits, firstAccount } = fields;
    this.delete(digest);
    this.#growOrPackAgain();
    const { words } = this.#rows;
    const at = this.#used * ROW;
    readDigest(digest, words.subarray(at, at + DIGEST_WORDS));
    words[at + API] = api;
    words[at + LIMITS_AND_CREDITS] = limits | (credits << 16);
    words[at + REVISION] = key.revision;
    words[at + FLAGS] = flags;
    if (planSlot !== null) this.#companions.plans.put(this.#used, planSlot);
    writeLong(words, at + ACCOUNT, firstAccount);
    writeLong(words, at + EXPIRES, key.expiresAtMs ?? 0);
    this.#rows.writeId(this.#used, key.id);
    this.#index.link(words, this.#used++);
    this.#live++;
    return true;
  }

  delete(digest: string): void {
    const row = this.#find(digest);
    if (row >= 0) this.#drop(row);
  }

  dropApi(apiId: string): void {
    const api = this.#shared.apis.find(apiId);
    if (api === 0) return;
    for (let row = 0; row < this.#used; row++) {
      if (this.#rows.word(row, API) === api && (this.#rows.word(row, FLAGS) & LIVE) !== 0) this.#drop(row);
    }
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

  keeps(entry: KeyEntry): boolean {
    return (entry as CachedEntry).rowNumber < 0;
  }

  keepLocal(entry: KeyEntry, owner: LocalOwner): void {
    if (entry.limits !== null) this.#remember(this.#companions.locals, entry, owner);
  }

  keepWindows(entry: KeyEntry, windows: PlanWindows): void {
    this.#remember(this.#companions.windows, entry, windows);
  }

  checkedAt(entry: KeyEntry): number {
    const row = this.#rowOf(entry);
    return row < 0 ? 0 : this.#notes.at(row, entry);
  }

  keepChecked(entry: KeyEntry, checkedAt: number): void {
    const row = this.#rowOf(entry);
    if (row >= 0) this.#notes.put(row, entry, checkedAt);
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
    const apiId = this.#shared.apis.at(this.#rows.word(row, API));
    const identityRow = this.#identityRow(row);
    const identityId = identityRow === null ? '' : this.#identities.idOf(identityRow);
    return { apiId, keyId: this.#rows.id(row), identityId };
  }

  #toEntry(row: number, identity: IdentityEntry | null, plan: PlanEntry | null): CachedEntry {
    const flags = this.#rows.word(row, FLAGS);
    const limits = this.#rows.limitsNumber(row);
    const own = limits === 0 ? null : this.#shared.limits.at(limits);
    const always = plan === null ? own : withGiven(own, plan.forKeys.always);
    const permissions = (plan ?? identity?.plan)?.permissions ?? null;
    return {
      id: this.#rows.id(row),
      apiId: this.#shared.apis.at(this.#rows.word(row, API)),
      revision: this.#rows.word(row, REVISION),
      enabled: (flags & ENABLED) !== 0,
      expiresAtMs: (flags & EXPIRES_AT_ALL) === 0 ? Infinity : readLong(this.#rows.words, row * ROW + EXPIRES),
      identity,
      plan,
      credits:
        (flags & HAS_CREDITS) === 0
          ? null
          : this.#shared.creditsOf(this.#rows.account(row), this.#rows.creditRules(row), plan),
      sharedCredits: identity === null ? null : identity.credits,
      limits: plan === null ? own : withGiven(own, plan.forKeys.all),
      alwaysApplied: joined(always, identity?.alwaysApplied ?? null),
      accountsFrom: limits === 0 ? 0 : this.#rows.account(row),
      extras: permissions === null ? null : withPermissions(null, permissions),
      rowNumber: this.#firstNumber + row,
      identityRow: null,
      planSlot: null,
      own: null,
      openCount: null,
      local: limits === 0 && plan === null ? null : this.#companions.locals.at(row),
      windows: plan === null ? null : this.#companions.windows.at(row),
      checkedAt: 0,
      wire: null,
    };
  }

  /** -1: the entry is kept as an object, or its row was dropped or packed again. */
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
    this.#notes.grow();
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
    this.#companions = new RowCompanions();
    this.#notes = new RowNotes(rows);
    [this.#used, this.#oldest] = [0, 0];
  }
}
