import type { LimitRecord } from '../../core/records.ts';
import type { Sources } from './keyEntry.ts';
import { COUNT_WORDS } from './packedCounts.ts';
import { DIGEST_WORDS, readLong } from './packedWords.ts';
import type { TextReader } from '../platform.ts';
import type { KeyRecord } from '../../model/keys.ts';

/** Length of `key_` and an id. */
const ID_LENGTH = 26;
const PACKABLE_ID = new RegExp(`^[!-~]{${ID_LENGTH}}$`);

/**
 * The words of a row: first the digest in groups of 24 bits (four characters of base64), then what verification needs, the
 * id, what counting needs. Together they are two lines of the processor's cache, which it fetches in one go. Among a
 * million keys that is what a verification waits for: with rows of 104 bytes and the ids elsewhere it took 0.8 us longer.
 */
export const FLAGS = DIGEST_WORDS;
export const REVISION = FLAGS + 1;
/** Numbers of what many keys share, 16 bits each. */
export const LIMITS_AND_CREDITS = REVISION + 1;
export const API = LIMITS_AND_CREDITS + 1;
const ID = API + 1;
export const ACCOUNT = ID + Math.ceil(ID_LENGTH / 4);
export const EXPIRES = ACCOUNT + 2;
export const COUNTS = EXPIRES + 2;
export const ROW = COUNTS + COUNT_WORDS;

/** Bits of the flags. */
export const ENABLED = 1;
export const HAS_CREDITS = 2;
export const EXPIRES_AT_ALL = 4;
export const LIVE = 8;
const HAS_IDENTITY = 16;
/** The key is on a plan itself. */
export const HAS_PLAN = 32;

/** Its credits are counted without a balance. */
const IS_METERED = 64;

/** It has more data than fits into the row (KeySide). */
export const HAS_SIDE = 128;

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

export function isPackableId(id: string): boolean {
  return PACKABLE_ID.test(id);
}

/** A block of rows, one after the other. */
export class RowMemory {
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
export function countAccounts({ credits, limits }: KeyRecord): CountedFrom | null {
  const first = credits?.account ?? limits.find(({ account }) => account !== null)?.account ?? 0;
  let next = credits === null ? first : first + 1;
  const counted: LimitRecord[] = [];
  for (const limit of limits) {
    if (limit.account !== null && limit.account !== next++) return null;
    counted.push(limit.account === null ? limit : { ...limit, account: limit.account - first });
  }
  return { first, limits: counted };
}
