import { alertsOf, tellsBelow } from '../../core/alerts.ts';
import { heldRefill } from '../../core/plan.ts';
import type { Alerts, LimitRecord, RefillRule } from '../../core/records.ts';
import { type AppliedLimit, asConfigured, type EntryCredits, type PlanEntry } from './entries.ts';
import type { KeyRecord } from '../../model/keys.ts';

/** Words of a packed digest. */
export const DIGEST_WORDS = 11;
const WORD = 2 ** 32;

const SIX_BITS = new Uint8Array(128);
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
for (let value = 0; value < BASE64.length; value++) SIX_BITS[BASE64.charCodeAt(value)] = value;

/** Base64 of 32 bytes, behind `version:` where there is a pepper. Two peppers never give the same bytes. */
export function readDigest(digest: string, into: Uint32Array): void {
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

/** Whether a number fits into one word. A damaged record can contain any number. */
export function isWord(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < WORD;
}

/** A number up to 2^53 in two words. */
export function readLong(words: Uint32Array, at: number): number {
  return (words[at] ?? 0) + (words[at + 1] ?? 0) * WORD;
}

export function writeLong(words: Uint32Array, at: number, value: number): void {
  words[at] = value % WORD;
  words[at + 1] = Math.floor(value / WORD);
}

const EMPTY = 0;
const DROPPED = 0xffffffff;
/** Bits of a slot that hold the number of its row + 1. The others are bits of the digest, which rule out most other rows. */
const ROW_BITS = 26;
const ROW_MASK = 2 ** ROW_BITS - 1;
/** Slots that move to the new table with each row that is linked. */
const MOVE_STEP = 64;

/**
 * Finds rows by the digest that they begin with, by open addressing. A larger table replaces a full one. Its rows move over some at
 * a time: linking a million of them at once takes too long.
 */
export class RowIndex {
  readonly #rowLength: number;
  #table: Uint32Array;
  /** Slots of the table that are not empty. */
  #taken = 0;
  /** The table before it, while not all of it has moved. */
  #before: Uint32Array | null = null;
  #moved = 0;

  /** `rowLength`: words of a row. `rows`: how many rows fit before the table grows. */
  constructor(rowLength: number, rows: number) {
    this.#rowLength = rowLength;
    this.#table = new Uint32Array(2 ** Math.ceil(Math.log2(rows * 2)));
  }

  /** -1 = there is none. */
  find(rows: Uint32Array, digest: Uint32Array): number {
    const row = this.#findIn(this.#table, rows, digest);
    return row >= 0 || this.#before === null ? row : this.#findIn(this.#before, rows, digest);
  }

  link(rows: Uint32Array, row: number): void {
    if (this.#before !== null) this.#move(rows, MOVE_STEP);
    if ((this.#taken + 1) * 2 > this.#table.length) this.#replace(rows);
    this.#put(rows, row);
  }

  unlink(rows: Uint32Array, row: number): void {
    this.#dropFrom(this.#table, rows, row);
    if (this.#before !== null) this.#dropFrom(this.#before, rows, row);
  }

  #findIn(table: Uint32Array, rows: Uint32Array, digest: Uint32Array): number {
    const mask = table.length - 1;
    const mark = markOf(digest, 0);
    for (let i = firstSlot(digest, 0) & mask; ; i = (i + 1) & mask) {
      const linked = table[i] ?? EMPTY;
      if (linked === EMPTY) return -1;
      if (linked >>> ROW_BITS !== mark || linked === DROPPED) continue;
      const row = (linked & ROW_MASK) - 1;
      if (this.#isRow(rows, row, digest)) return row;
    }
  }

  #put(rows: Uint32Array, row: number): void {
    const mask = this.#table.length - 1;
    const at = row * this.#rowLength;
    let i = firstSlot(rows, at) & mask;
    while (this.#table[i] !== EMPTY) i = (i + 1) & mask;
    this.#table[i] = slotValue(rows, at, row);
    this.#taken++;
  }

  #dropFrom(table: Uint32Array, rows: Uint32Array, row: number): void {
    const mask = table.length - 1;
    const at = row * this.#rowLength;
    const value = slotValue(rows, at, row);
    for (let i = firstSlot(rows, at) & mask; table[i] !== EMPTY; i = (i + 1) & mask) {
      if (table[i] !== value) continue;
      table[i] = DROPPED;
      return;
    }
  }

  /** The new table is twice as large. Dropped rows do not move and are not counted any more. */
  #replace(rows: Uint32Array): void {
    if (this.#before !== null) this.#move(rows, Infinity);
    this.#before = this.#table;
    this.#moved = 0;
    this.#table = new Uint32Array(this.#before.length * 2);
    this.#taken = 0;
  }

  #move(rows: Uint32Array, count: number): void {
    const before = this.#before;
    if (before === null) return;
    const end = Math.min(this.#moved + count, before.length);
    for (; this.#moved < end; this.#moved++) {
      const linked = before[this.#moved] ?? EMPTY;
      if (linked !== EMPTY && linked !== DROPPED) this.#put(rows, (linked & ROW_MASK) - 1);
    }
    if (end === before.length) this.#before = null;
  }

  #isRow(rows: Uint32Array, row: number, digest: Uint32Array): boolean {
    const at = row * this.#rowLength;
    for (let i = 0; i < DIGEST_WORDS; i++) if (rows[at + i] !== digest[i]) return false;
    return true;
  }
}

/** Where the search for a row begins. Digests are spread evenly, so their first words are enough. */
function firstSlot(words: Uint32Array, at: number): number {
  return (words[at] ?? 0) ^ ((words[at + 1] ?? 0) << 8);
}

/** Bits of a digest that do not choose its first slot. */
function markOf(words: Uint32Array, at: number): number {
  return (words[at + 2] ?? 0) & 0x3f;
}

function slotValue(words: Uint32Array, at: number, row: number): number {
  return ((markOf(words, at) << ROW_BITS) | (row + 1)) >>> 0;
}

/** What keys share of their credits. */
interface CreditRules {
  readonly refill: RefillRule | null;
  readonly alerts: Alerts | null;
  /** Without a plan. */
  readonly tellsBelow: number;
}

const PLAIN_CREDITS: CreditRules = { refill: null, alerts: null, tellsBelow: tellsBelow(null, null) };

/** Values that keys share, by number. 0 = none, -1 = there are too many different values. */
export class SharedRecords {
  readonly apis = new Shared<string>();
  readonly limits = new Shared<readonly AppliedLimit[]>();
  readonly credits = new Shared<CreditRules>();

  limitsNumber(limits: readonly LimitRecord[]): number {
    return limits.length === 0 ? 0 : this.limits.indexOf(JSON.stringify(limits), limits.map(asConfigured));
  }

  /** The time at which a rule was set does not matter to a verification. Without it, many keys share one rule. */
  creditsNumber({ credits, alerts }: Pick<KeyRecord, 'credits' | 'alerts'>): number {
    const rule = credits?.refill ?? null;
    const threshold = alertsOf(null, alerts?.creditsBelow ?? null);
    if (credits === null || (rule === null && threshold === null)) return 0;
    const refill = rule === null ? null : { ...rule, sinceMs: 0 };
    const shared = { refill, alerts: threshold, tellsBelow: tellsBelow(threshold, null) };
    return this.credits.indexOf(JSON.stringify(shared), shared);
  }

  /** The credits of a key under these rules; null = they are metered. */
  creditsOf(account: number, rulesNumber: number | null, plan: PlanEntry | null): EntryCredits {
    if (rulesNumber === null) return { account, refill: null, metered: true, tellsBelow: 0 };
    const rules = rulesNumber === 0 ? PLAIN_CREDITS : this.credits.at(rulesNumber);
    if (plan === null) return { account, refill: rules.refill, tellsBelow: rules.tellsBelow };
    const refill = heldRefill({ account, refill: rules.refill }, plan.record);
    return { account, refill, tellsBelow: tellsBelow(rules.alerts, plan.record) };
  }
}

/** Different values that keys share; one more is refused. Their numbers fit into 16 bits. */
const MAX_SHARED = 10_000;
const COMPANIONS_PER_BLOCK = 1024;

/** Objects that belong to some rows. Blocks of rows without such objects take no memory. */
export class Companions<T> {
  readonly #blocks: ((T | null)[] | null)[] = [];

  at(row: number): T | null {
    return this.#blocks[Math.floor(row / COMPANIONS_PER_BLOCK)]?.[row % COMPANIONS_PER_BLOCK] ?? null;
  }

  put(row: number, companion: T | null): void {
    const number = Math.floor(row / COMPANIONS_PER_BLOCK);
    const block = this.#blocks[number] ?? (companion === null ? null : this.#open(number));
    if (block !== null) block[row % COMPANIONS_PER_BLOCK] = companion;
  }

  /** Calls `use` for each row that has one. Of a million rows, a thousand with one are found in a few milliseconds. */
  forEach(use: (companion: T, row: number) => void): void {
    for (let number = 0; number < this.#blocks.length; number++) {
      const block = this.#blocks[number] ?? [];
      for (let i = 0; i < block.length; i++) {
        const companion = block[i] ?? null;
        if (companion !== null) use(companion, number * COMPANIONS_PER_BLOCK + i);
      }
    }
  }

  #open(number: number): (T | null)[] {
    const block = Array.from({ length: COMPANIONS_PER_BLOCK }, () => null);
    while (this.#blocks.length <= number) this.#blocks.push(null);
    this.#blocks[number] = block;
    return block;
  }
}

/** Values that many keys share, by number; 0 = none. */
class Shared<T> {
  readonly #numbers = new Map<string, number>();
  readonly #values: T[] = [];

  /** -1 when there are too many different ones. */
  indexOf(name: string, value: T): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#values.length >= MAX_SHARED) return -1;
    this.#values.push(value);
    this.#numbers.set(name, this.#values.length);
    return this.#values.length;
  }

  /** 0 when it was never seen. */
  find(name: string): number {
    return this.#numbers.get(name) ?? 0;
  }

  at(number: number): T {
    return this.#values[number - 1] as T;
  }
}
