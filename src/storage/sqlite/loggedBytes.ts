import type { AccountState } from '../../core/account.ts';

/** An account as the log holds it is eight numbers: id, kind, value, mark, due (ms), revision, base, length of a segment (ms). */
export const ACCOUNT_LENGTH = 8;

/** The forms of a number. The numbers of an account follow a mark: two bits for the account's kind, three for the form of each number. */
const ZERO = 0;
/** The same as in the previous account: accounts of one row often have the revision, the refill and the day in common. */
const SAME = 1;
/** The base, as its difference to the value, in two bytes. */
const ABOVE_VALUE = 2;
const TWO_BYTES = 3;
const FOUR_BYTES = 4;
/** An instant in whole seconds, in four bytes. */
const SECONDS = 5;
const EIGHT_BYTES = 6;

const BYTES_OF_FORM = [0, 0, 2, 2, 4, 4, 8] as const;
const MARK_BYTES = 3;
const MAX_ACCOUNT_BYTES = MARK_BYTES + (ACCOUNT_LENGTH - 1) * 8;
/** Offsets of the numbers of an account, except the kind, which has no bytes. The value is read before the base. */
const NUMBERS = [0, 2, 3, 4, 5, 6, 7] as const;
const KIND = 1;
const VALUE = 2;
const BASE = 6;

let buffer = new DataView(new ArrayBuffer(64 * MAX_ACCOUNT_BYTES));

/**
 * Accounts as the bytes of a log row, valid until the next call. Most numbers are small, 0 or repeated: a commit of 60 credits has 790
 * bytes instead of 3,840. So several rows share a page of the database, and fewer pages are flushed. As JSON, they took a third of the time
 * of the commit.
 */
export function toLog(numbers: Float64Array): Uint8Array {
  const most = (numbers.length / ACCOUNT_LENGTH) * MAX_ACCOUNT_BYTES;
  if (buffer.byteLength < most) buffer = new DataView(new ArrayBuffer(most * 2));
  let end = 0;
  for (let at = 0; at < numbers.length; at += ACCOUNT_LENGTH) {
    const start = end;
    const value = numbers[at + VALUE] ?? 0;
    let mark = (numbers[at + KIND] ?? 0) + 1;
    let shift = 2;
    end += MARK_BYTES;
    for (const offset of NUMBERS) {
      const number = numbers[at + offset] ?? 0;
      if (number !== 0) {
        let form = SAME;
        if (at === 0 || number !== numbers[at + offset - ACCOUNT_LENGTH]) {
          form = formOf(number, offset === BASE ? number - value : -1);
          put(end, number, form, value);
          end += BYTES_OF_FORM[form] ?? 0;
        }
        mark |= form << shift;
      }
      shift += 3;
    }
    buffer.setUint16(start, mark & 0xffff, true);
    buffer.setUint8(start + 2, mark >>> 16);
  }
  return new Uint8Array(buffer.buffer, 0, end);
}

function formOf(number: number, aboveValue: number): number {
  if (aboveValue === (aboveValue & 0xffff)) return ABOVE_VALUE;
  if (number === (number & 0xffff)) return TWO_BYTES;
  if (number === number >>> 0) return FOUR_BYTES;
  return wholeSeconds(number) * 1000 === number ? SECONDS : EIGHT_BYTES;
}

function put(at: number, number: number, form: number, value: number): void {
  if (form === FOUR_BYTES) buffer.setUint32(at, number, true);
  else if (form === ABOVE_VALUE) buffer.setUint16(at, number - value, true);
  else if (form === TWO_BYTES) buffer.setUint16(at, number, true);
  else if (form === SECONDS) buffer.setUint32(at, wholeSeconds(number), true);
  else buffer.setFloat64(at, number, true);
}

/** Correct only if the number is an instant in whole seconds. Computing the remainder of a number this large takes many times as long. */
function wholeSeconds(number: number): number {
  return (number / 1000) >>> 0;
}

/** ACCOUNT_LENGTH numbers for each. */
export function fromLog(logged: Uint8Array): Float64Array {
  const view = new DataView(logged.buffer, logged.byteOffset, logged.byteLength);
  const numbers = new Float64Array(Math.ceil(view.byteLength / MARK_BYTES) * ACCOUNT_LENGTH);
  let end = 0;
  for (let at = 0; at < view.byteLength; end += ACCOUNT_LENGTH) {
    const mark = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    const kind = (mark & 3) - 1;
    at += MARK_BYTES;
    numbers[end + KIND] = kind;
    let isSound = kind <= 1;
    let shift = 2;
    for (const offset of NUMBERS) {
      const form = (mark >>> shift) & 7;
      const before = numbers[end + offset - ACCOUNT_LENGTH] ?? Number.NaN;
      const number = form === SAME ? before : readNumber(view, at, form, numbers[end + VALUE] ?? 0);
      isSound &&= isCount(number);
      numbers[end + offset] = number;
      at += BYTES_OF_FORM[form] ?? 0;
      shift += 3;
    }
    if (!isSound) throw new Error('it holds impossible numbers');
  }
  return numbers.subarray(0, end);
}

/** NaN for a form that does not exist. */
function readNumber(view: DataView, at: number, form: number, value: number): number {
  switch (form) {
    case ZERO:
      return 0;
    case ABOVE_VALUE:
      return value + view.getUint16(at, true);
    case TWO_BYTES:
      return view.getUint16(at, true);
    case FOUR_BYTES:
      return view.getUint32(at, true);
    case SECONDS:
      return view.getUint32(at, true) * 1000;
    case EIGHT_BYTES:
      return view.getFloat64(at, true);
    default:
      return Number.NaN;
  }
}

/** Instead of the kind: the account has no row. */
export const CLOSED = -1;

/** All of them in one block of numbers. */
export function toLoggedAccounts(states: ReadonlyMap<number, AccountState | null>): Float64Array {
  const numbers = new Float64Array(states.size * ACCOUNT_LENGTH);
  let at = 0;
  for (const [id, state] of states) {
    writeAccount(numbers, at, id, state);
    at += ACCOUNT_LENGTH;
  }
  return numbers;
}

/** Writes an account into a block of numbers. */
export function writeAccount(numbers: Float64Array, at: number, id: number, state: AccountState | null): void {
  numbers[at] = id;
  numbers[at + 1] = state === null ? CLOSED : kindNumber(state);
  numbers[at + 2] = state?.value ?? 0;
  numbers[at + 3] = state?.mark ?? 0;
  numbers[at + 4] = state?.dueAtMs ?? 0;
  numbers[at + 5] = state?.revision ?? 0;
  numbers[at + 6] = state?.base ?? 0;
  numbers[at + 7] = state?.segmentMs ?? 0;
}

export function readAccount(numbers: Float64Array, at: number): AccountState | null {
  const kind = numbers[at + 1];
  if (kind === CLOSED) return null;
  return {
    kind: kind === 0 ? 'credits' : 'window',
    value: numbers[at + 2] ?? 0,
    mark: numbers[at + 3] ?? 0,
    dueAtMs: numbers[at + 4] ?? 0,
    revision: numbers[at + 5] ?? 0,
    base: numbers[at + 6] ?? 0,
    segmentMs: numbers[at + 7] ?? 0,
  };
}

function kindNumber({ kind }: AccountState): number {
  return kind === 'credits' ? 0 : 1;
}

/** Holds for every number of an account except its kind. */
export function isCount(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}
