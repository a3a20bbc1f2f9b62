import type { RefillRule } from '../core/records.ts';
import type { KeyWithIdentity } from '../storage/recordsPort.ts';
import { type KeyEntry, toExtras } from './keyEntry.ts';
import { type AppliedLimit, asConfigured } from './limits.ts';
import { ID_LENGTH, IdBlocks, Shared } from './packing.ts';

/**
 * Most keys have no name, no metadata and no owner. They are kept here, in blocks of numbers outside of the garbage
 * collector's sight: with 100,000 keys as objects every collection has to walk through them, which was measured to cost a
 * quarter of the throughput, and a million of them would not fit in memory as comfortably.
 *
 * A row is ROW words: the digest in groups of 24 bits (four characters of base64), then what verification needs. Rows are
 * found by open addressing over `#index` (row + 1, 0 = empty, TOMB = was dropped); they are appended and never reused, and
 * everything is packed anew when half of it is dropped.
 */
const DIGEST_WORDS = 11;
const API = 11;
const LIMITS = 12;
const REFILL = 13;
const FLAGS = 14;
const REVISION = 15;
const ACCOUNT = 16;
const EXPIRES = 18;
const ROW = 20;

const ENABLED = 1;
const HAS_CREDITS = 2;
const EXPIRES_AT_ALL = 4;
const LIVE = 8;

const TOMB = 0xffffffff;
const FIRST_ROWS = 1024;
const WORD = 2 ** 32;

const SIX_BITS = new Uint8Array(128);
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
for (let value = 0; value < BASE64.length; value++) SIX_BITS[BASE64.charCodeAt(value)] = value;

export class PackedKeys {
  #rows = new Uint32Array(FIRST_ROWS * ROW);
  #index = new Uint32Array(FIRST_ROWS * 2);
  #ids = new IdBlocks();
  #used = 0;
  #live = 0;
  #oldest = 0;
  readonly #wanted = new Uint32Array(DIGEST_WORDS);
  readonly #apis = new Shared<string>();
  readonly #limits = new Shared<readonly AppliedLimit[]>();
  readonly #refills = new Shared<RefillRule>();

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
    if (identity !== null || toExtras(found) !== null) return false;
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
    this.#writeLong(at + ACCOUNT, key.credits?.account ?? 0);
    this.#writeLong(at + EXPIRES, key.expiresAtMs ?? 0);
    this.#ids.push(key.id);
    this.#link(this.#used++);
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

  #toEntry(row: number): KeyEntry {
    const flags = this.#word(row, FLAGS);
    const limits = this.#word(row, LIMITS);
    return {
      id: this.#ids.at(row),
      apiId: this.#apis.at(this.#word(row, API)),
      revision: this.#word(row, REVISION),
      enabled: (flags & ENABLED) !== 0,
      expiresAtMs: (flags & EXPIRES_AT_ALL) === 0 ? Infinity : this.#long(row, EXPIRES),
      identity: null,
      credits: (flags & HAS_CREDITS) === 0 ? null : this.#credits(row),
      limits: limits === 0 ? null : this.#limits.at(limits),
      extras: null,
      wire: null,
    };
  }

  #credits(row: number): KeyEntry['credits'] {
    const refill = this.#word(row, REFILL);
    return { account: this.#long(row, ACCOUNT), refill: refill === 0 ? null : this.#refills.at(refill) };
  }

  /** When the rule was set makes no difference to a verification; without it many keys share a rule. */
  #refillIndex(refill: RefillRule | null): number {
    if (refill === null) return 0;
    const rule = { ...refill, sinceMs: 0 };
    return this.#refills.indexOf(JSON.stringify(rule), rule);
  }

  #find(digest: string): number {
    const wanted = this.#wanted;
    readDigest(digest, wanted);
    const mask = this.#index.length - 1;
    for (let i = placeOf(wanted, 0) & mask; ; i = (i + 1) & mask) {
      const linked = this.#index[i] ?? 0;
      if (linked === 0) return -1;
      if (linked !== TOMB && this.#isRow(linked - 1, wanted)) return linked - 1;
    }
  }

  #isRow(row: number, wanted: Uint32Array): boolean {
    const at = row * ROW;
    for (let i = 0; i < DIGEST_WORDS; i++) if (this.#rows[at + i] !== wanted[i]) return false;
    return true;
  }

  #link(row: number): void {
    const mask = this.#index.length - 1;
    let i = placeOf(this.#rows, row * ROW) & mask;
    while (this.#index[i] !== 0 && this.#index[i] !== TOMB) i = (i + 1) & mask;
    this.#index[i] = row + 1;
  }

  #drop(row: number): void {
    const mask = this.#index.length - 1;
    let i = placeOf(this.#rows, row * ROW) & mask;
    while (this.#index[i] !== row + 1) i = (i + 1) & mask;
    this.#index[i] = TOMB;
    this.#rows[row * ROW + FLAGS] = 0;
    this.#live--;
  }

  /** Packs what lives into larger blocks, or into as large ones when half of it was dropped. */
  #makeRoom(): void {
    if ((this.#used + 1) * ROW <= this.#rows.length) return;
    const rows = this.#live * 2 > this.#used ? this.#used * 2 : this.#used;
    const [before, ids, used] = [this.#rows, this.#ids, this.#used];
    this.#rows = new Uint32Array(rows * ROW);
    this.#index = new Uint32Array(2 ** Math.ceil(Math.log2(rows * 2)));
    this.#ids = new IdBlocks();
    this.#used = 0;
    this.#oldest = 0;
    for (let row = 0; row < used; row++) {
      const at = row * ROW;
      if (((before[at + FLAGS] ?? 0) & LIVE) === 0) continue;
      this.#rows.set(before.subarray(at, at + ROW), this.#used * ROW);
      this.#ids.push(ids.at(row));
      this.#link(this.#used++);
    }
  }

  #word(row: number, word: number): number {
    return this.#rows[row * ROW + word] ?? 0;
  }

  #long(row: number, word: number): number {
    return this.#word(row, word) + this.#word(row, word + 1) * WORD;
  }

  #writeLong(at: number, value: number): void {
    this.#rows[at] = value % WORD;
    this.#rows[at + 1] = Math.floor(value / WORD);
  }
}

/** Base64 of 32 bytes, behind `version:` where there is a pepper. Two peppers never give the same bytes. */
function readDigest(digest: string, into: Uint32Array): void {
  let at = digest.indexOf(':') + 1;
  for (let i = 0; i < DIGEST_WORDS; i++) {
    // The last group has three characters and a `=`, which reads as 0.
    into[i] =
      (sixBits(digest, at) << 18) |
      (sixBits(digest, at + 1) << 12) |
      (sixBits(digest, at + 2) << 6) |
      sixBits(digest, at + 3);
    at += 4;
  }
}

function sixBits(text: string, at: number): number {
  return SIX_BITS[text.charCodeAt(at)] ?? 0;
}

/** A digest is random already: its first words are as good as any hash of it. */
function placeOf(words: Uint32Array, at: number): number {
  return (words[at] ?? 0) ^ ((words[at + 1] ?? 0) << 8);
}
