import { ACCOUNT_LENGTH, isCount } from './loggedAccount.ts';

/** A number has 0, 4 or 8 bytes; an instant of a whole second has 4. The numbers of an account follow a mark: two bits for its kind, and two bits for the form of each number. */
const ZERO = 0;
const SHORT = 1;
const LONG = 2;
const SECONDS = 3;
const MARK_BYTES = 2;
const MAX_ACCOUNT_BYTES = MARK_BYTES + (ACCOUNT_LENGTH - 1) * 8;
/** Offsets of the numbers of an account, without its kind, which has no bytes. */
const NUMBERS = [0, 2, 3, 4, 5, 6, 7] as const;
const KIND = 1;

let buffer = new DataView(new ArrayBuffer(64 * MAX_ACCOUNT_BYTES));

/**
 * Accounts as the bytes of a log row, valid until the next call. Most numbers are small or 0: a commit of 60 credits has 840 bytes
 * instead of 2,880. So several rows share a page of the database, and fewer pages are flushed. As JSON they took a third of the
 * time of the commit.
 */
export function toLog(numbers: Float64Array): Uint8Array {
  const most = (numbers.length / ACCOUNT_LENGTH) * MAX_ACCOUNT_BYTES;
  if (buffer.byteLength < most) buffer = new DataView(new ArrayBuffer(most * 2));
  let end = 0;
  for (let at = 0; at < numbers.length; at += ACCOUNT_LENGTH) {
    const start = end;
    let mark = (numbers[at + KIND] ?? 0) + 1;
    let shift = 2;
    end += MARK_BYTES;
    for (const offset of NUMBERS) {
      const number = numbers[at + offset] ?? 0;
      if (number !== 0) {
        if (number === number >>> 0) {
          mark |= SHORT << shift;
          buffer.setUint32(end, number, true);
          end += 4;
        } else if (wholeSeconds(number) * 1000 === number) {
          mark |= SECONDS << shift;
          buffer.setUint32(end, wholeSeconds(number), true);
          end += 4;
        } else {
          mark |= LONG << shift;
          buffer.setFloat64(end, number, true);
          end += 8;
        }
      }
      shift += 2;
    }
    buffer.setUint16(start, mark, true);
  }
  return new Uint8Array(buffer.buffer, 0, end);
}

/** Right only where the number is an instant of a whole second. A remainder of a number this large takes many times as long. */
function wholeSeconds(number: number): number {
  return (number / 1000) >>> 0;
}

/** LoggedAccount after LoggedAccount. */
export function fromLog(logged: Uint8Array): Float64Array {
  const view = new DataView(logged.buffer, logged.byteOffset, logged.byteLength);
  const numbers = new Float64Array(Math.ceil(view.byteLength / MARK_BYTES) * ACCOUNT_LENGTH);
  let end = 0;
  for (let at = 0; at < view.byteLength; end += ACCOUNT_LENGTH) {
    const mark = view.getUint16(at, true);
    const kind = (mark & 3) - 1;
    at += MARK_BYTES;
    numbers[end + KIND] = kind;
    let isSound = kind <= 1;
    let shift = 2;
    for (const offset of NUMBERS) {
      const form = (mark >>> shift) & 3;
      const number = readNumber(view, at, form);
      isSound &&= isCount(number);
      numbers[end + offset] = number;
      at += form === ZERO ? 0 : form === LONG ? 8 : 4;
      shift += 2;
    }
    if (!isSound) throw new Error('it holds impossible numbers');
  }
  return numbers.subarray(0, end);
}

function readNumber(view: DataView, at: number, form: number): number {
  if (form === ZERO) return 0;
  if (form === LONG) return view.getFloat64(at, true);
  return view.getUint32(at, true) * (form === SECONDS ? 1000 : 1);
}
