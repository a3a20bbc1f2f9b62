import { readLong, writeLong } from './packedWords.ts';
import type { TextReader } from '../platform.ts';

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
export const TEXT_BYTES = (ROW - TEXT) * 4;

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
export class IdentityRows {
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

/** Nothing that JSON would write in another way. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;
const BYTE = 0xff;

interface Names {
  readonly id: string;
  readonly externalId: string;
}

/** Answers repeat them as they are. */
export function arePlain({ id, externalId }: Names): boolean {
  return PLAIN_TEXT.test(id) && PLAIN_TEXT.test(externalId);
}

/** Where the names are in a text that has them: start and length of each, a byte for each number. */
function namePlaces(text: string, { id, externalId }: Names): number {
  return text.indexOf(id) | (id.length << 8) | (text.indexOf(externalId) << 16) | (externalId.length << 24);
}

function idStart(places: number): number {
  return places & BYTE;
}

function idLength(places: number): number {
  return (places >>> 8) & BYTE;
}

export function idIn(text: string, places: number): string {
  return text.slice(idStart(places), idStart(places) + idLength(places));
}

export function externalIdIn(text: string, places: number): string {
  const start = (places >>> 16) & BYTE;
  return text.slice(start, start + (places >>> 24));
}
