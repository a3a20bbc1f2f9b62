import { MAX_JSON_DEPTH, MAX_JSON_NAMES, MAX_JSON_VALUES } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const SMALL_E = 0x65;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const END = -1;

/** One for each byte that a name may hold. */
export const NOISE_NUMBERS = 256;

/** Whole numbers with at most this many digits stay exact while digits are added. */
const EXACT_DIGITS = 15;

/** So many values are read before others get a turn. That takes at most a third of a millisecond. */
const VALUES_PER_STEP = 256;

/**
 * Reads a JSON body from its bytes, which are valid UTF-8, as strictly as `parseJson` does.
 *
 * JSON.parse is not used, because it puts names and short texts into a hash table of the runtime without a seed. A caller can
 * choose texts that all collide: half a megabyte of them kept a node busy for 20 s. Here texts are decoded from the bytes
 * without that table, and only a bounded number of names enters it.
 *
 * @param noise NOISE_NUMBERS random numbers that no caller knows
 */
export function readJson(bytes: Uint8Array, noise: Uint32Array): unknown {
  const reading = new Reading(bytes, noise);
  reading.step(Infinity);
  return reading.value;
}

/** The same for a large body. `giveWay` is called after each part; null: reading goes on at once. */
export async function readJsonInSteps(
  bytes: Uint8Array,
  noise: Uint32Array,
  giveWay: () => Promise<void> | null,
): Promise<unknown> {
  const reading = new Reading(bytes, noise);
  while (!reading.step(VALUES_PER_STEP)) {
    const pause = giveWay();
    if (pause !== null) await pause;
  }
  return reading.value;
}

/** A list or an object whose end was not read yet. */
interface Open {
  /** Null: an object. */
  readonly list: unknown[] | null;
  readonly object: Record<string, unknown>;
  /** Of the object, among those with members. */
  readonly number: number;
  /** The member whose value is being read. */
  name: string;
}

/** What `begin` answers for a list or an object that has something in it. */
const OPENED = Symbol('opened');
const NO_OBJECT = {};

/** Its fields are not private (#): private fields make reading three times as slow. */
class Reading {
  readonly bytes: Buffer;
  readonly names: JsonNames;
  at = 0;
  /** The lists and objects around the next value. */
  readonly open: Open[] = [];
  /** What was read, once all of it was. */
  value: unknown = undefined;
  /** Values read so far. */
  values = 0;
  /** Objects with members read so far. */
  objects = 0;
  /** The last text was ASCII without escapes. */
  isPlain = true;
  hasEscapes = false;

  constructor(bytes: Uint8Array, noise: Uint32Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.names = new JsonNames(this.bytes, noise);
    // Skip a byte order mark.
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.at = 3;
    if (this.next() === END) throw new AppError('BAD_REQUEST', 'The body is empty. Send a JSON object.');
  }

  /** Reads so many values. True: all is read. */
  step(count: number): boolean {
    const stopAt = this.values + count;
    while (this.values < stopAt) {
      let value = this.begin();
      while (value !== OPENED) {
        const around = this.open.at(-1);
        if (around === undefined) return this.end(value);
        this.put(around, value);
        if (this.hasMore()) {
          if (around.list === null) this.passName(around);
          break;
        }
        value = this.close(around);
      }
    }
    return false;
  }

  /** Reads a value, of a list or an object only its beginning. */
  begin(): unknown {
    if (++this.values > MAX_JSON_VALUES) {
      throw new AppError('BAD_REQUEST', `The body has more than ${MAX_JSON_VALUES} values. Send it in smaller parts.`);
    }
    switch (this.bytes[this.at]) {
      case QUOTE:
        return this.text();
      case OPEN_BRACE:
        return this.beginObject();
      case OPEN_BRACKET:
        return this.beginList();
      case 0x74:
        return this.word('true', true);
      case 0x66:
        return this.word('false', false);
      case 0x6e:
        return this.word('null', null);
      default:
        return this.number();
    }
  }

  beginObject(): unknown {
    this.enter();
    const object: Record<string, unknown> = {};
    if (this.next() === CLOSE_BRACE) {
      this.at++;
      return object;
    }
    const opened: Open = { list: null, object, number: ++this.objects, name: '' };
    this.open.push(opened);
    this.passName(opened);
    return OPENED;
  }

  beginList(): unknown {
    this.enter();
    const list: unknown[] = [];
    if (this.next() === CLOSE_BRACKET) {
      this.at++;
      return list;
    }
    this.open.push({ list, object: NO_OBJECT, number: 0, name: '' });
    return OPENED;
  }

  enter(): void {
    this.at++;
    if (this.open.length >= MAX_JSON_DEPTH) {
      throw new AppError('BAD_REQUEST', `The body is nested more than ${MAX_JSON_DEPTH} levels deep.`);
    }
  }

  /** Reads the name of a member, up to its value. */
  passName(opened: Open): void {
    const name = this.name();
    const { text } = name;
    if (!name.enter(this.open.length, opened.number)) {
      throw new AppError('BAD_REQUEST', `The member ${repeatable(text)} appears twice in one object.`);
    }
    if (this.next() !== COLON) throw malformed();
    this.at++;
    this.next();
    opened.name = text;
  }

  put({ list, object, name }: Open, value: unknown): void {
    if (list !== null) list.push(value);
    else if (name !== '__proto__') object[name] = value;
    // A plain assignment to `__proto__` would change the prototype of the object.
    else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  }

  /** Skips a comma, and the blanks before the next value. */
  hasMore(): boolean {
    if (this.next() !== COMMA) return false;
    this.at++;
    this.next();
    return true;
  }

  close({ list, object }: Open): unknown {
    if (this.next() !== (list === null ? CLOSE_BRACE : CLOSE_BRACKET)) throw malformed();
    this.at++;
    this.open.pop();
    return list ?? object;
  }

  end(value: unknown): true {
    if (this.next() !== END) throw malformed();
    this.value = value;
    return true;
  }

  name(): JsonName {
    const from = this.at + 1;
    this.passText();
    const to = this.at - 1;
    return this.names.find(from, to) ?? this.names.add(from, to, this.cut(from, to), this.hasEscapes);
  }

  text(): string {
    const from = this.at + 1;
    this.passText();
    return this.cut(from, this.at - 1);
  }

  cut(from: number, to: number): string {
    if (this.isPlain) return this.bytes.toString('latin1', from, to);
    return this.hasEscapes ? unescapedText(this.bytes, from, to) : this.bytes.toString('utf8', from, to);
  }

  passText(): void {
    const { bytes } = this;
    if (bytes[this.at] !== QUOTE) throw malformed();
    this.isPlain = true;
    this.hasEscapes = false;
    for (this.at++; ; this.at++) {
      const byte = bytes[this.at] ?? END;
      if (byte === QUOTE) break;
      if (byte < 0x20) throw malformed();
      if (byte > 0x7e) this.isPlain = false;
      else if (byte === BACKSLASH) this.passEscape();
    }
    this.at++;
  }

  passEscape(): void {
    this.isPlain = false;
    this.hasEscapes = true;
    const length = escapeLength(this.bytes, this.at);
    if (length === 0) throw malformed();
    this.at += length - 1;
  }

  number(): number {
    const { bytes } = this;
    const from = this.at;
    const isNegative = bytes[from] === MINUS;
    if (isNegative) this.at++;
    const first = this.at;
    const whole = this.digits();
    const count = this.at - first;
    if (bytes[first] === ZERO && count > 1) throw malformed();
    const isWhole = !this.passFraction() && !this.passExponent();
    if (!isWhole || count > EXACT_DIGITS) return Number(bytes.toString('latin1', from, this.at));
    return isNegative ? -whole : whole;
  }

  passFraction(): boolean {
    if (this.bytes[this.at] !== DOT) return false;
    this.at++;
    this.digits();
    this.passExponent();
    return true;
  }

  passExponent(): boolean {
    if (((this.bytes[this.at] ?? 0) | 0x20) !== SMALL_E) return false;
    const sign = this.bytes[++this.at];
    if (sign === MINUS || sign === PLUS) this.at++;
    this.digits();
    return true;
  }

  digits(): number {
    const from = this.at;
    let value = 0;
    for (; ; this.at++) {
      const digit = (this.bytes[this.at] ?? END) - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    if (this.at === from) throw malformed();
    return value;
  }

  word<T>(word: string, value: T): T {
    for (let i = 0; i < word.length; i++) if (this.bytes[this.at++] !== word.charCodeAt(i)) throw malformed();
    return value;
  }

  /** Skips blanks and answers the next byte without consuming it. */
  next(): number {
    for (; ; this.at++) {
      const byte = this.bytes[this.at] ?? END;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
    }
  }
}

/** The message shows nothing of the body, which may contain a secret. */
function malformed(): AppError {
  return new AppError('BAD_REQUEST', 'The body is not valid JSON.');
}

const SMALL_U = 0x75;

/** The character that each letter after a backslash means. */
const ESCAPES = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)],
  ),
);

/** The length in bytes of the escape at this position; 0 = not a valid escape. */
function escapeLength(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== SMALL_U) return ESCAPES.has(letter) ? 2 : 0;
  for (let i = at + 2; i < at + 6; i++) if (hexDigit(bytes[i] ?? 0) < 0) return 0;
  return 6;
}

/** Decodes UTF-8 with escapes, both already checked. Each unit is written once, however many escapes there are. */
function unescapedText(bytes: Uint8Array, from: number, to: number): string {
  const units = new Uint16Array(to - from);
  let length = 0;
  for (let at = from; at < to;) {
    const byte = bytes[at] ?? 0;
    if (byte === BACKSLASH) {
      units[length++] = escapedUnit(bytes, at);
      at += bytes[at + 1] === SMALL_U ? 6 : 2;
    } else if (byte < 0x80) {
      units[length++] = byte;
      at++;
    } else {
      const size = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
      length += writeCharacter(units, length, codePoint(bytes, at, size));
      at += size;
    }
  }
  return Buffer.from(units.buffer).toString('ucs2', 0, length * 2);
}

function escapedUnit(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== SMALL_U) return ESCAPES.get(letter) ?? 0;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) unit = unit * 16 + hexDigit(bytes[i] ?? 0);
  return unit;
}

/** -1 = not a hexadecimal digit. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1;
}

/** The more bytes follow the first byte, the fewer bits of the character it has. */
function codePoint(bytes: Uint8Array, at: number, size: number): number {
  let code = (bytes[at] ?? 0) & (0xff >> (size + 1));
  for (let i = at + 1; i < at + size; i++) code = (code << 6) | ((bytes[i] ?? 0) & 0x3f);
  return code;
}

function writeCharacter(units: Uint16Array, at: number, code: number): number {
  if (code < 0x10000) {
    units[at] = code;
    return 1;
  }
  units[at] = 0xd800 + ((code - 0x10000) >> 10);
  units[at + 1] = 0xdc00 + ((code - 0x10000) & 0x3ff);
  return 2;
}

/** A member name of one body, as it is written there. */
class JsonName {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** The first name that is written differently (with escapes) and means the same. */
  readonly first: JsonName;
  /** By depth: the number of the last object that has this member. */
  readonly objects: number[] = [];

  constructor(text: string, from: number, to: number, first: JsonName | null) {
    this.text = text;
    this.from = from;
    this.to = to;
    this.first = first ?? this;
  }

  /** False: the object has this member already. The object itself is not searched: that is slow when names share a hash. */
  enter(depth: number, object: number): boolean {
    const { objects } = this.first;
    if (objects[depth] === object) return false;
    objects[depth] = object;
    return true;
  }
}

/**
 * The member names of one body, each created once. They are found by a hash that no caller can predict. Their number is bounded,
 * because member names also enter tables of the runtime, whose hash everyone can predict.
 *
 * The fields are not private (#), for the reason that `Reading` gives.
 */
export class JsonNames {
  readonly bytes: Uint8Array;
  readonly noise: Uint32Array;
  readonly byHash = new Map<number, JsonName>();
  /** Set after the first name with an escape: it may be another spelling of a known name. */
  byText: Map<string, JsonName> | null = null;

  constructor(bytes: Uint8Array, noise: Uint32Array) {
    this.bytes = bytes;
    this.noise = noise;
  }

  find(from: number, to: number): JsonName | null {
    for (let hash = this.hashOf(from, to); ; hash = (hash + 1) | 0) {
      const name = this.byHash.get(hash);
      if (name === undefined) return null;
      if (this.isSame(name, from, to)) return name;
    }
  }

  /** Adds a name that was not found. */
  add(from: number, to: number, text: string, hasEscapes: boolean): JsonName {
    if (this.byHash.size === MAX_JSON_NAMES) {
      throw new AppError(
        'BAD_REQUEST',
        `The body has more than ${MAX_JSON_NAMES} different member names. Send it in smaller parts.`,
      );
    }
    if (hasEscapes) this.byText ??= new Map(Array.from(this.byHash.values(), (name) => [name.text, name]));
    const name = new JsonName(text, from, to, this.byText?.get(text) ?? null);
    if (name.first === name) this.byText?.set(text, name);
    let hash = this.hashOf(from, to);
    while (this.byHash.has(hash)) hash = (hash + 1) | 0;
    this.byHash.set(hash, name);
    return name;
  }

  hashOf(from: number, to: number): number {
    let hash = to - from;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (this.noise[this.bytes[i] ?? 0] ?? 0), 0x9e3779b1);
    return hash ^ (hash >>> 15);
  }

  isSame(name: JsonName, from: number, to: number): boolean {
    if (name.to - name.from !== to - from) return false;
    for (let i = 0; from + i < to; i++) if (this.bytes[name.from + i] !== this.bytes[from + i]) return false;
    return true;
  }
}

/**
 * Parses the JSON body of one verification (MAX_VERIFY_BODY_BYTES) strictly. Besides the grammar, nesting is bounded, because
 * deeper values can be parsed but not serialized. A member must not appear twice: JSON.parse keeps the last one, other parsers
 * the first. `readJson` does the same for all other bodies, which may be too large for JSON.parse.
 */
export function parseJson(text: string): unknown {
  const problem = inspect(text);
  if (problem !== null) throw new AppError('BAD_REQUEST', problem);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's own message quotes the body, and the body may hold a secret.
    throw new AppError(
      'BAD_REQUEST',
      text.trim() === '' ? 'The body is empty. Send a JSON object.' : 'The body is not valid JSON.',
    );
  }
}

/** One pass over a text whose grammar JSON.parse has checked. */
function inspect(text: string): string | null {
  /** Names seen in each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      const end = endOfString(text, i);
      const names = open.at(-1);
      if (names != null && isName(text, end)) {
        const name = text.slice(i + 1, end);
        // Escaped names are rare. They are decoded before they are compared, because one name can be written in two ways.
        const plain = name.includes('\\') ? unescaped(name) : name;
        if (names.has(plain)) return `The member ${repeatable(plain)} appears twice in one object.`;
        names.add(plain);
      }
      i = end;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      open.push(code === OPEN_BRACE ? new Set() : null);
      if (open.length > MAX_JSON_DEPTH) return `The body is nested more than ${MAX_JSON_DEPTH} levels deep.`;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) open.pop();
  }
  return null;
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i++;
    else if (code === QUOTE) return i;
  }
  return text.length;
}

function isName(text: string, end: number): boolean {
  for (let i = end + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x20) return code === COLON;
  }
  return false;
}

function unescaped(name: string): string {
  try {
    return JSON.parse(`"${name}"`) as string;
  } catch {
    return name;
  }
}
