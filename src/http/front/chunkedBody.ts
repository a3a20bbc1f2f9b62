import { AppError } from '../../core/errors.ts';
import { Held } from './held.ts';
import { readHeaders } from './headers.ts';
import type { Store } from './store.ts';

/** Of a line that tells a size, with its extensions. */
const MAX_LINE_BYTES = 256;
const MAX_TRAILER_BYTES = 4096;
/** Leading zeros included. Extensions are passed over; one in quotes could hide the end of its line, and is refused. */
const SIZE_LINE = /^([\da-fA-F]{1,16})(?:;[!#$%&'*+.^_`|~\w;=-]*)?$/;

/** RFC 9112, 7.1: a body in chunks, each behind a line with its size. The last one is empty; trailers behind it are passed over. */
export class ChunkedBody {
  readonly #body: Held;
  readonly #maxBytes: number;
  #state: 'size' | 'data' | 'end of data' | 'trailers' | 'whole' = 'size';
  /** Of the chunk that is being read. */
  #left = 0;
  #trailerBytes = 0;

  constructor(maxBytes: number, store: Store) {
    this.#body = new Held(store);
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#body.length;
  }

  /** More than is taken has come; the rest is not read. */
  get isTooLong(): boolean {
    return this.#body.length > this.#maxBytes;
  }

  /** As far as it has come. Valid until `clear`. */
  get bytes(): Buffer {
    return this.#body.bytes.subarray(this.#body.start, this.#body.end);
  }

  clear(): void {
    this.#body.clear();
  }

  /** False: there is not enough memory for it. */
  keep(): boolean {
    return this.#body.keep();
  }

  /** Takes what is there. True: nothing more has to come. Throws what is answered when it is malformed. */
  read(from: Held): boolean {
    while (this.#state !== 'whole' && !this.isTooLong) {
      if (!this.#step(from)) return false;
    }
    return true;
  }

  /** False: more has to come first. */
  #step(from: Held): boolean {
    switch (this.#state) {
      case 'size':
        return this.#readSize(from);
      case 'data':
        return this.#readData(from);
      case 'end of data': {
        const line = takeLine(from, 0);
        if (line !== null) this.#state = 'size';
        return line !== null;
      }
      default:
        return this.#readTrailer(from);
    }
  }

  #readSize(from: Held): boolean {
    const line = takeLine(from, MAX_LINE_BYTES);
    if (line === null) return false;
    const size = SIZE_LINE.exec(line)?.[1];
    if (size === undefined) throw malformed();
    this.#left = Number.parseInt(size, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'data';
    return true;
  }

  #readData(from: Held): boolean {
    // One byte past the bound is enough to know that it is too long.
    const count = Math.min(this.#left, from.length, this.#maxBytes + 1 - this.#body.length);
    if (count === 0) return false;
    const data = from.bytes.subarray(from.start, from.start + count);
    // The first chunk is copied here: it would be held as it is, and with it the bytes of the connection around it.
    this.#body.add(this.#body.length === 0 ? Buffer.from(data) : data, this.#maxBytes + 1);
    from.consume(count);
    this.#left -= count;
    if (this.#left === 0) this.#state = 'end of data';
    return true;
  }

  #readTrailer(from: Held): boolean {
    const line = takeLine(from, MAX_TRAILER_BYTES - this.#trailerBytes);
    if (line === null) return false;
    this.#trailerBytes += line.length;
    if (line === '') this.#state = 'whole';
    else readHeaders([line]);
    return true;
  }
}

const [LF, CR] = [0x0a, 0x0d];

/** A line without its end, which is CR LF. Null: its end has not come yet. */
function takeLine(from: Held, maxBytes: number): string | null {
  const { bytes, start } = from;
  const end = Math.min(from.end, start + maxBytes + 2);
  const at = bytes.subarray(start, end).indexOf(LF);
  if (at < 0) {
    if (from.length > maxBytes + 1) throw malformed();
    return null;
  }
  if (at === 0 || bytes[start + at - 1] !== CR) throw malformed();
  const line = bytes.toString('latin1', start, start + at - 1);
  from.consume(at + 1);
  return line;
}

function malformed(): AppError {
  return new AppError('BAD_REQUEST', 'The chunked body is malformed.');
}
