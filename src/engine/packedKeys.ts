import type { RefillRule } from '../core/records.ts';
import type { TallyLists } from '../core/tallyLists.ts';
import type { KeyWithIdentity } from '../storage/recordsPort.ts';
import type { LocalOwner } from './localWindow.ts';
import { type KeyEntry, toExtras } from './keyEntry.ts';
import { type AppliedLimit, asConfigured } from './limits.ts';
import { OpenTally } from './openTally.ts';
import { COUNT_WORDS, PackedCounts } from './packedCounts.ts';
import { DIGEST_WORDS, readDigest, readLong, writeLong } from './packedWords.ts';
import { Companions, ID_LENGTH, IdBlocks, Shared } from './packing.ts';
import { RowIndex } from './rowIndex.ts';

/**
 * Most keys have no name, no metadata and no owner. They are kept here, in blocks of numbers outside of the garbage
 * collector's sight: with 100,000 keys as objects every collection has to walk through them, which was measured to cost a
 * quarter of the throughput, and a million of them would not fit in memory as comfortably.
 *
 * A row is ROW words: the digest in groups of 24 bits (four characters of base64), what verification needs, what counting
 * needs. Rows are appended and never reused, and everything is packed anew when half of it is dropped.
 */
const LIMITS = DIGEST_WORDS;
const REFILL = 12;
const FLAGS = 13;
const REVISION = 14;
const ACCOUNT = 15;
const EXPIRES = 17;
const API = 19;
const COUNTS = 20;
const ROW = COUNTS + COUNT_WORDS;

const ENABLED = 1;
const HAS_CREDITS = 2;
const EXPIRES_AT_ALL = 4;
const LIVE = 8;

const FIRST_ROWS = 1024;

export class PackedKeys {
  #rows = new Uint32Array(FIRST_ROWS * ROW);
  #index = new RowIndex(ROW, FIRST_ROWS);
  #ids = new IdBlocks();
  #locals = new Companions<LocalOwner>();
  #used = 0;
  #live = 0;
  #oldest = 0;
  /** The place of the first row: a place is never given twice. */
  #firstPlace = 0;
  readonly counts = new PackedCounts();
  /** Hears of what a row has counted when the row is dropped. */
  onDropped: (tally: OpenTally, isSealed: boolean) => void = () => {};
  readonly #wanted = new Uint32Array(DIGEST_WORDS);
  #apis = new Shared<string>();
  #limits = new Shared<readonly AppliedLimit[]>();
  #refills = new Shared<RefillRule>();

  get size(): number {
    return this.#live;
  }

  get(digest: string): KeyEntry | undefined {
    const row = this.#find(digest);
    return row < 0 ? undefined : this.#toEntry(row);
  }

  /** False when the key has more to it than fits in a row. */
  add(digest: string, found: KeyWithIdentity): boolean {
    const { key, identity } = found;
    if (identity !== null || key.guardAccount !== null || toExtras(found) !== null) return false;
    if (key.id.length !== ID_LENGTH || key.limits.some(({ account }) => account !== null)) return false;
    const api = this.#apis.indexOf(key.apiId, key.apiId);
    const limits =
      key.limits.length === 0 ? 0 : this.#limits.indexOf(JSON.stringify(key.limits), key.limits.map(asConfigured));
    const refill = this.#refillIndex(key.credits?.refill ?? null);
    if (api < 0 || limits < 0 || refill < 0) return false;
    this.delete(digest);
    this.#makeRoom();
    const at = this.#used * ROW;
    readDigest(digest, this.#rows.subarray(at, at + DIGEST_WORDS));
    this.#rows[at + API] = api;
    this.#rows[at + LIMITS] = limits;
    this.#rows[at + REFILL] = refill;
    this.#rows[at + REVISION] = key.revision;
    this.#rows[at + FLAGS] =
      LIVE |
      (key.enabled ? ENABLED : 0) |
      (key.credits === null ? 0 : HAS_CREDITS) |
      (key.expiresAtMs === null ? 0 : EXPIRES_AT_ALL);
    writeLong(this.#rows, at + ACCOUNT, key.credits?.account ?? 0);
    writeLong(this.#rows, at + EXPIRES, key.expiresAtMs ?? 0);
    this.#ids.push(key.id);
    this.#index.link(this.#rows, this.#used++);
    this.#live++;
    return true;
  }

  delete(digest: string): void {
    const row = this.#find(digest);
    if (row >= 0) this.#drop(row);
  }

  dropApi(apiId: string): void {
    const api = this.#apis.find(apiId);
    if (api === 0) return;
    for (let row = 0; row < this.#used; row++) {
      if (this.#word(row, API) === api && (this.#word(row, FLAGS) & LIVE) !== 0) this.#drop(row);
    }
  }

  dropOldest(): void {
    while (this.#oldest < this.#used) {
      const row = this.#oldest++;
      if ((this.#word(row, FLAGS) & LIVE) !== 0) return this.#drop(row);
    }
  }

  clear(): void {
    for (let row = 0; row < this.#used; row++) this.#tellCounts(row);
    this.#resize(FIRST_ROWS);
    this.#live = 0;
    this.counts.listAnew(this.#rows, COUNTS, ROW, this.#used);
    [this.#apis, this.#limits, this.#refills] = [new Shared(), new Shared(), new Shared()];
  }

  /** The key was valid once more; false when its row is not there any more. */
  count(place: number, nowMs: number): boolean {
    const row = place - this.#firstPlace;
    if (row < 0 || (this.#word(row, FLAGS) & LIVE) === 0) return false;
    this.counts.add(this.#rows, row * ROW + COUNTS, row, nowMs);
    return true;
  }

  /** Until the rows are packed anew. */
  keepLocal(place: number, owner: LocalOwner): void {
    const row = place - this.#firstPlace;
    if (row < 0 || (this.#word(row, FLAGS) & LIVE) === 0 || this.#word(row, LIMITS) === 0) return;
    this.#locals.put(row, owner);
  }

  /** Adds at most so much of what was counted in a generation that is sealed; false = there is nothing. */
  takeSealed(into: TallyLists, limit: number): boolean {
    const taken = this.counts.takeSealed(this.#rows, COUNTS, ROW, limit);
    if (taken === null) return false;
    const { rows, minuteMs, counts, lastUses } = taken;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] ?? 0;
      const count = counts[i] ?? 0;
      const apiId = this.#apis.at(this.#word(row, API));
      if (count > 0) into.addValid(minuteMs, apiId, this.#ids.at(row), count, minuteMs + (lastUses[i] ?? 0));
    }
    return true;
  }

  #tellCounts(row: number): void {
    for (const { minuteMs, count, lastAtMs, isSealed } of this.counts.takeAll(this.#rows, row * ROW + COUNTS)) {
      const [apiId, keyId] = [this.#apis.at(this.#word(row, API)), this.#ids.at(row)];
      this.onDropped(OpenTally.ofValid(minuteMs, apiId, keyId, count, lastAtMs), isSealed);
    }
  }

  #toEntry(row: number): KeyEntry {
    const flags = this.#word(row, FLAGS);
    const limits = this.#word(row, LIMITS);
    return {
      id: this.#ids.at(row),
      apiId: this.#apis.at(this.#word(row, API)),
      revision: this.#word(row, REVISION),
      enabled: (flags & ENABLED) !== 0,
      expiresAtMs: (flags & EXPIRES_AT_ALL) === 0 ? Infinity : readLong(this.#rows, row * ROW + EXPIRES),
      identity: null,
      credits: (flags & HAS_CREDITS) === 0 ? null : this.#credits(row),
      limits: limits === 0 ? null : this.#limits.at(limits),
      extras: null,
      guardAccount: null,
      place: this.#firstPlace + row,
      tally: null,
      local: limits === 0 ? null : this.#locals.at(row),
      wire: null,
    };
  }

  #credits(row: number): KeyEntry['credits'] {
    const refill = this.#word(row, REFILL);
    return {
      account: readLong(this.#rows, row * ROW + ACCOUNT),
      refill: refill === 0 ? null : this.#refills.at(refill),
    };
  }

  /** When the rule was set makes no difference to a verification; without it many keys share a rule. */
  #refillIndex(refill: RefillRule | null): number {
    if (refill === null) return 0;
    const rule = { ...refill, sinceMs: 0 };
    return this.#refills.indexOf(JSON.stringify(rule), rule);
  }

  #find(digest: string): number {
    readDigest(digest, this.#wanted);
    return this.#index.find(this.#rows, this.#wanted);
  }

  #drop(row: number): void {
    this.#index.unlink(this.#rows, row);
    this.#tellCounts(row);
    this.#locals.put(row, null);
    this.#rows[row * ROW + FLAGS] = 0;
    this.#live--;
  }

  #makeRoom(): void {
    if ((this.#used + 1) * ROW <= this.#rows.length) return;
    if (this.#live * 2 > this.#used) this.#grow();
    else this.#packAnew();
  }

  /** Rows keep their numbers: a copy in one piece, and nothing else. */
  #grow(): void {
    const rows = new Uint32Array(this.#rows.length * 2);
    rows.set(this.#rows);
    this.#rows = rows;
  }

  /** Half of them was dropped: what lives is packed into blocks of the same size. */
  #packAnew(): void {
    const [before, ids, used] = [this.#rows, this.#ids, this.#used];
    this.#resize(used);
    for (let row = 0; row < used; row++) {
      const at = row * ROW;
      if (((before[at + FLAGS] ?? 0) & LIVE) === 0) continue;
      this.#rows.set(before.subarray(at, at + ROW), this.#used * ROW);
      this.#ids.push(ids.at(row));
      this.#index.link(this.#rows, this.#used++);
    }
    this.counts.listAnew(this.#rows, COUNTS, ROW, this.#used);
  }

  /** New and empty blocks; places in the old ones stand for nothing any more. */
  #resize(rows: number): void {
    this.#firstPlace += this.#used;
    this.#rows = new Uint32Array(rows * ROW);
    this.#index = new RowIndex(ROW, rows);
    this.#ids = new IdBlocks();
    this.#locals = new Companions();
    this.#used = 0;
    this.#oldest = 0;
  }

  #word(row: number, word: number): number {
    return this.#rows[row * ROW + word] ?? 0;
  }
}
