import { AppError } from '../../core/errors.ts';
import { ByteBuffer } from './byteBuffer.ts';
import { parseHeaders } from './headers.ts';
import type { Memory } from './memoryBudget.ts';

/** The longest line with a chunk size and its extensions. */
const MAX_LINE_BYTES = 256;
const MAX_TRAILER_BYTES = 4096;
/** Leading zeros included. */
const MAX_SIZE_DIGITS = 16;
/**
 * Sizes, extensions and line ends of a body may have so many bytes, and twice as many as its data more. Each chunk costs time, however
 * short it is: a body in chunks of one byte is refused early. Chunks of 16 bytes or more always pass, unless they have extensions.
 */
const FREE_FRAMING_BYTES = 16 * 1024;
const FRAMING_PER_DATA_BYTE = 2;

const [LF, CR, SEMICOLON] = [0x0a, 0x0d, 0x3b];
const CRLF_BYTES = 2;
/** Extensions are ignored. A quoted extension is refused, because it could hide the end of its line. */
const IN_EXTENSION = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[!#$%&'*+.^_`|~\w;=-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** RFC 9112, 7.1: a body in chunks. A line with its size precedes each chunk. The last chunk is empty; trailers after it are ignored. */
export class ChunkedBody {
  readonly #body: ByteBuffer;
  readonly #maxBytes: number;
  #state: 'size' | 'data' | 'end of data' | 'trailers' | 'whole' = 'size';
  /** Bytes left of the current chunk. */
  #left = 0;
  #framingBytes = 0;
  #trailerBytes = 0;

  constructor(maxBytes: number, memory: Memory) {
    this.#body = new ByteBuffer(memory);
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#body.length;
  }

  /** The body is longer than allowed. The rest is not read. */
  get isTooLong(): boolean {
    return this.#body.length > this.#maxBytes;
  }

  /** The bytes that have arrived so far. Valid until `clear`. */
  get bytes(): Buffer {
    return this.#body.bytes.subarray(this.#body.start, this.#body.end);
  }

  clear(): void {
    this.#body.clear();
  }

  /** False: there is not enough memory for the body. */
  keep(): boolean {
    return this.#body.keep();
  }

  /** Reads the bytes that have arrived. True: the body is complete. Throws the error to answer when it is malformed. */
  read(from: ByteBuffer): boolean {
    while (this.#state !== 'whole' && !this.isTooLong) {
      if (!this.#step(from)) return false;
    }
    return true;
  }

  /** False: more bytes are needed. */
  #step(from: ByteBuffer): boolean {
    switch (this.#state) {
      case 'size':
        return this.#readSize(from);
      case 'data':
        return this.#readData(from);
      case 'end of data':
        return this.#readDataEnd(from);
      default:
        return this.#readTrailer(from);
    }
  }

  #readSize(from: ByteBuffer): boolean {
    const { bytes, start } = from;
    const end = Math.min(from.end, start + MAX_LINE_BYTES + CRLF_BYTES);
    let size = 0;
    let at = start;
    for (let digit; at < end && (digit = hexDigit(bytes[at])) >= 0; at++) size = size * 16 + digit;
    const digits = at - start;
    if (digits > MAX_SIZE_DIGITS) throw malformed();
    if (at < end && bytes[at] === SEMICOLON) while (at < end && IN_EXTENSION[bytes[at] ?? 0] === 1) at++;
    if (at < end && (digits === 0 || bytes[at] !== CR)) throw malformed();
    if (at + 1 < end && bytes[at + 1] !== LF) throw malformed();
    if (at + 1 >= end) {
      if (from.length > MAX_LINE_BYTES + 1) throw malformed();
      return false;
    }
    this.#consumeFraming(from, at + CRLF_BYTES - start);
    this.#left = size;
    this.#state = size === 0 ? 'trailers' : 'data';
    return true;
  }

  #readData(from: ByteBuffer): boolean {
    // One byte past the bound is enough to know that it is too long.
    const count = Math.min(this.#left, from.length, this.#maxBytes + 1 - this.#body.length);
    if (count === 0) return false;
    this.#body.addCopy(from.bytes, from.start, count, this.#maxBytes + 1);
    from.consume(count);
    this.#left -= count;
    if (this.#left === 0) this.#state = 'end of data';
    return true;
  }

  #readDataEnd(from: ByteBuffer): boolean {
    const { bytes, start, length } = from;
    if (length > 0 && bytes[start] !== CR) throw malformed();
    if (length > 1 && bytes[start + 1] !== LF) throw malformed();
    if (length < CRLF_BYTES) return false;
    this.#consumeFraming(from, CRLF_BYTES);
    this.#state = 'size';
    return true;
  }

  #consumeFraming(from: ByteBuffer, count: number): void {
    from.consume(count);
    this.#framingBytes += count;
    if (this.#framingBytes > FREE_FRAMING_BYTES + FRAMING_PER_DATA_BYTE * this.#body.length) throw tooManyChunks();
  }

  #readTrailer(from: ByteBuffer): boolean {
    const line = takeLine(from, MAX_TRAILER_BYTES - this.#trailerBytes);
    if (line === null) return false;
    this.#trailerBytes += line.length;
    if (line === '') this.#state = 'whole';
    else parseHeaders([line]);
    return true;
  }
}

/** Negative: not a hexadecimal digit. */
function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** A line without its CR LF. Null: the end has not arrived yet. */
function takeLine(from: ByteBuffer, maxBytes: number): string | null {
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

function tooManyChunks(): AppError {
  return new AppError(
    'BAD_REQUEST',
    'The chunked body has too many short chunks or long extensions. Send chunks of 16 bytes or more.',
  );
}
