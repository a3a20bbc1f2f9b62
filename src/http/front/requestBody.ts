import { AppError } from '../../core/errors.ts';
import { FairQueue } from '../../basics/fairQueue.ts';
import { ByteBuffer } from './byteBuffer.ts';
import { type Memory, NO_MEMORY, OWN_BYTES } from './frontLimits.ts';
import { parseHeaders, type RequestHead } from './requestHead.ts';

export const NO_BODY = Buffer.alloc(0);

/** The body of one request, with a Content-Length or in chunks. */
export class IncomingBody {
  readonly #maxBytes: number;
  readonly #bodyBytes: number;
  readonly #chunked: ChunkedBody | null;

  constructor({ bodyBytes, isChunked }: RequestHead, maxBytes: number, memory: Memory) {
    this.#maxBytes = maxBytes;
    this.#bodyBytes = bodyBytes;
    this.#chunked = isChunked ? new ChunkedBody(maxBytes, memory) : null;
  }

  /** The body is longer than its route takes. Its end is not waited for, and no request behind it can be read. */
  get isCut(): boolean {
    return this.#chunked?.isTooLong ?? this.#bodyBytes > this.#maxBytes;
  }

  /** The whole body has arrived, or as much of it as shows that it is too long. Throws the failure to answer with. */
  hasArrived(from: ByteBuffer): boolean {
    if (this.#chunked !== null) return this.#chunked.read(from);
    return this.isCut || from.length >= this.#bodyBytes;
  }

  /** The body, once it has arrived. */
  take(from: ByteBuffer): Buffer {
    if (this.#chunked !== null) return this.#chunked.bytes;
    // Content-Length shows that the body is too long, so none of it is read.
    if (this.isCut) return NO_BODY;
    const { bytes, start } = from;
    from.consume(this.#bodyBytes);
    return bytes.subarray(start, start + this.#bodyBytes);
  }

  /** How many bytes of it have arrived. */
  received(from: ByteBuffer): number {
    return this.#chunked?.length ?? from.length;
  }

  /** How many bytes are expected in all; unknown for a chunked body. */
  get expectedBytes(): number {
    return this.#chunked === null ? this.#bodyBytes : Infinity;
  }

  /** False: there is not enough memory to wait for the rest. */
  keep(): boolean {
    return this.#chunked?.keep() ?? true;
  }

  clear(): void {
    this.#chunked?.clear();
  }
}

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

/** Large bodies that may arrive at the same time. */
export const MAX_ARRIVING = 8;
/** Large bodies of one client that have arrived, and whose requests wait or are being answered. */
export const MAX_HELD = 4;
/** While others wait, a body of which nothing arrives gives up its place after this time, or twice this time. */
const SILENT_MS = 50;
/** Less than this counts as nothing: at such a pace a body does not arrive in time. */
export const MIN_BYTES = 512;
/** Any other body gives up its place after so many times of this. */
export const MAX_TIMES = 5;
/** Bytes of large bodies in one pass of the event loop: copying them takes some milliseconds. Without a bound, the runtime reads on. */
export const MAX_BYTES_PER_PASS = 2 * 1024 * 1024;

/** The connection that a body arrives on. */
interface Receiver {
  /** Receives nothing more. What the client sends waits in its own buffers. */
  pause(): void;
  resume(): void;
}

interface Timers {
  after(milliseconds: number, work: () => void): void;
  /** Runs work at the end of this pass of the event loop. */
  afterOthers(work: () => void): void;
}

/**
 * Lets large bodies arrive a few at a time, and in turns of their clients: copying the bodies of hundreds of connections would take as long
 * as hundreds of small requests. Each body is in one of these states:
 *
 *   waiting  --its client's turn--> arriving
 *   arriving --others wait, and nothing came for SILENT_MS, or it takes long--> waiting
 *   arriving --all has arrived--> held: its request waits for its turn, or is being answered --> over
 *
 * While a client has MAX_HELD of them, its other ones wait: they take no memory, and are not refused. After MAX_BYTES_PER_PASS none of
 * them receives anything more in that pass.
 */
export class LargeBodies {
  readonly #timers: Timers;
  readonly #waiting = new FairQueue<LargeBody>();
  readonly #arriving = new Set<LargeBody>();
  /** By client. */
  readonly #held = new Map<string, number>();
  #isWatching = false;
  /** Bytes that were received in this pass. */
  #received = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** No more of them are received in this pass. */
  get isFull(): boolean {
    return this.#received >= MAX_BYTES_PER_PASS;
  }

  /** The head of a request with a large body was read. */
  begin(client: string, receiver: Receiver): LargeBody {
    const body = new LargeBody(this, client, receiver);
    this.#waiting.add(client, body);
    this.#admit();
    if (body.isPaused) receiver.pause();
    this.#watch();
    return body;
  }

  /** So many bytes of one of them have arrived. */
  received(bytes: number): void {
    const wasFull = this.isFull;
    if (this.#received === 0) this.#timers.afterOthers(() => this.#nextPass());
    this.#received += bytes;
    if (this.isFull && !wasFull) for (const body of this.#arriving) body.receiver.pause();
  }

  #nextPass(): void {
    const wasFull = this.isFull;
    this.#received = 0;
    if (wasFull) for (const body of this.#arriving) body.receiver.resume();
  }

  hold(body: LargeBody): void {
    if (body.state === 'held' || body.state === 'over') return;
    this.#forget(body);
    body.state = 'held';
    this.#held.set(body.client, (this.#held.get(body.client) ?? 0) + 1);
    this.#admit();
  }

  end(body: LargeBody): void {
    if (body.state === 'over') return;
    this.#forget(body);
    body.state = 'over';
    this.#admit();
  }

  #forget(body: LargeBody): void {
    const { state, client } = body;
    if (state === 'waiting') this.#waiting.remove(client, body);
    if (state === 'arriving') this.#arriving.delete(body);
    if (state !== 'held') return;
    const left = (this.#held.get(client) ?? 0) - 1;
    if (left > 0) this.#held.set(client, left);
    else this.#held.delete(client);
  }

  #admit(): void {
    while (this.#arriving.size < MAX_ARRIVING && this.#admitOne());
  }

  #admitOne(): boolean {
    const next = this.#waiting.take((client) => (this.#held.get(client) ?? 0) < MAX_HELD);
    if (next === undefined) return false;
    next.state = 'arriving';
    next.isSilent = true;
    next.came = 0;
    next.times = 0;
    next.hadItsChance = true;
    this.#arriving.add(next);
    if (!next.isPaused) next.receiver.resume();
    return true;
  }

  /** Another one arrives instead, if one may. */
  #swap(body: LargeBody): void {
    if (!this.#admitOne()) return;
    this.#arriving.delete(body);
    body.state = 'waiting';
    this.#waiting.add(body.client, body);
    body.receiver.pause();
  }

  /** While some wait, those that are silent or take long give way. */
  #watch(): void {
    if (this.#isWatching || this.#waiting.isEmpty) return;
    this.#isWatching = true;
    this.#timers.after(SILENT_MS, () => {
      this.#isWatching = false;
      // A copy: those that come in their place are looked at the next time.
      for (const body of Array.from(this.#arriving)) {
        if (body.isSilent || ++body.times >= MAX_TIMES) this.#swap(body);
        body.isSilent = true;
        body.came = 0;
      }
      this.#watch();
    });
  }
}

/** A large body, from the head of its request to its answer. */
export class LargeBody {
  readonly #all: LargeBodies;
  readonly client: string;
  readonly receiver: Receiver;
  state: 'waiting' | 'arriving' | 'held' | 'over' = 'waiting';
  /** Nothing of it has arrived since it was looked at, or too little. */
  isSilent = true;
  /** Bytes that have arrived since then. */
  came = 0;
  /** How often it was looked at while it arrived. */
  times = 0;
  /** It had its turn, and too little came. */
  hadItsChance = false;
  readonly #leaving = new AbortController();
  #memory: Memory | null = null;
  #taken = 0;

  constructor(all: LargeBodies, client: string, receiver: Receiver) {
    this.#all = all;
    this.client = client;
    this.receiver = receiver;
  }

  /** It receives nothing at the moment. */
  get isPaused(): boolean {
    return this.state === 'waiting' || (this.state === 'arriving' && this.#all.isFull);
  }

  /** So many bytes of it have arrived. */
  received(bytes: number): void {
    this.came += bytes;
    if (this.came >= MIN_BYTES) {
      this.isSilent = false;
      this.hadItsChance = false;
    }
    this.#all.received(bytes);
  }

  /** All of it has arrived. */
  hold(): void {
    this.#all.hold(this);
  }

  /** Takes memory until the request is answered. Throws when there is none. */
  take(bytes: number, memory: Memory): void {
    const taken = Math.max(0, bytes - OWN_BYTES);
    if (!memory.take(taken, taken)) throw NO_MEMORY;
    this.#memory = memory;
    this.#taken = taken;
  }

  /** Tells who works on it when the client has left. */
  get gone(): AbortSignal {
    return this.#leaving.signal;
  }

  leave(): void {
    this.#leaving.abort();
  }

  /** The request was answered, or is not answered at all. */
  end(): void {
    this.#memory?.giveBack(this.#taken);
    this.#memory = null;
    this.#all.end(this);
  }
}
