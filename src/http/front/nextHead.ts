import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import type { Asking, Peer } from '../service.ts';
import { readHead, type RequestHead } from './parseHead.ts';
import type { Held } from './byteBuffer.ts';

/** Of a request line with its headers. As much as the runtime's server takes. */
export const MAX_HEAD_BYTES = 16 * 1024;
/** A head is remembered for the next request if it is no longer than this. */
const MAX_REMEMBERED = 1024;
const END_OF_HEAD = '\r\n\r\n';
const [LF, CR] = [0x0a, 0x0d];
/** No method begins with a byte outside of these: what does is no HTTP (a TLS handshake begins with 0x16). */
const [FIRST_OF_TOKEN, LAST_OF_TOKEN] = [0x21, 0x7e];

/** A head, and how it was written, with the empty line at its end. */
export interface WrittenHead {
  readonly bytes: Buffer;
  readonly head: RequestHead;
  /** It asks for nothing but a verification whose body fits. */
  readonly isVerification: boolean;
  readonly asking: Asking;
}

/** Reads the heads of one connection. A client sends the same one again and again: what it means is known then. */
export class HeadReader {
  readonly #hasCors: boolean;
  readonly #peer: Peer;
  #last: WrittenHead | null = null;
  /** How much of a head that is not whole yet was looked through. */
  #seen = 0;

  constructor(hasCors: boolean, peer: Peer) {
    this.#hasCors = hasCors;
    this.#peer = peer;
  }

  /** Takes a head, or answers null when more has to come first. Throws what is answered instead. */
  take(held: Held): WrittenHead | null {
    const last = this.#last;
    if (last !== null && startsWith(held, last.bytes)) {
      this.#seen = 0;
      held.consume(last.bytes.length);
      return last;
    }
    const { bytes, start } = held;
    // An end that came in two pieces begins up to three bytes before the second one.
    const found = bytes.subarray(start, held.end).indexOf(END_OF_HEAD, Math.max(0, this.#seen - 3), 'latin1');
    if (found > MAX_HEAD_BYTES || (found < 0 && held.length > MAX_HEAD_BYTES)) {
      throw new AppError('HEADERS_TOO_LARGE', `The headers have more than ${MAX_HEAD_BYTES} bytes.`);
    }
    if (found < 0) {
      this.#checkBeginning(held);
      this.#seen = held.length;
      return null;
    }
    this.#seen = 0;
    const head = readHead(bytes.toString('latin1', start, start + found));
    const length = found + END_OF_HEAD.length;
    const isVerification = this.#isVerification(head);
    const isRemembered = isVerification && length <= MAX_REMEMBERED;
    const written = {
      // A copy: what came with it is not kept.
      bytes: isRemembered ? Buffer.from(bytes.subarray(start, start + length)) : NOTHING,
      head,
      isVerification,
      asking: { headers: head.headers, peer: this.#peer },
    };
    if (isRemembered) this.#last = written;
    held.consume(length);
    return written;
  }

  /** What can be no head is refused before the client has waited for its answer. */
  #checkBeginning({ bytes, start, end }: Held): void {
    const first = bytes[start] ?? 0;
    if (first < FIRST_OF_TOKEN || first > LAST_OF_TOKEN) {
      throw new AppError('BAD_REQUEST', 'This is no HTTP request. This port speaks HTTP/1.1 without TLS.');
    }
    for (let at = bytes.indexOf(LF, start + this.#seen); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) {
      if (bytes[at - 1] !== CR) throw new AppError('BAD_REQUEST', 'A line of the headers does not end with CR LF.');
    }
  }

  #isVerification({ method, target, bodyBytes, isChunked, headers }: RequestHead): boolean {
    return (
      method === 'POST' &&
      target === verifyKey.path &&
      bodyBytes <= MAX_VERIFY_BODY_BYTES &&
      !isChunked &&
      // The answer to a page of another origin has more headers.
      !(this.#hasCors && headers.get('origin') !== null)
    );
  }
}

const NOTHING = Buffer.alloc(0);

function startsWith({ bytes, start, length }: Held, beginning: Buffer): boolean {
  return length >= beginning.length && beginning.compare(bytes, start, start + beginning.length) === 0;
}
