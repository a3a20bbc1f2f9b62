import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import type { HostCheck } from '../request/framing.ts';
import type { Asking, Peer } from '../service.ts';
import { parseHead, type RequestHead } from './parseHead.ts';
import type { ByteBuffer } from './byteBuffer.ts';

/** The longest request line with its headers. Node's server takes as much. */
const MAX_HEAD_BYTES = 16 * 1024;
/** A head is remembered for the next request if it is no longer than this. */
const MAX_REMEMBERED = 1024;
const END_OF_HEAD = '\r\n\r\n';
const [LF, CR] = [0x0a, 0x0d];
/** A method begins with a byte in this range. Others are not HTTP (a TLS handshake begins with 0x16). */
const [FIRST_OF_TOKEN, LAST_OF_TOKEN] = [0x21, 0x7e];

/** A parsed head, with its bytes up to and including the empty line. */
export interface WrittenHead {
  readonly bytes: Buffer;
  readonly head: RequestHead;
  /** It is a plain verification whose body fits. */
  readonly isVerification: boolean;
  readonly asking: Asking;
}

/** What all connections know of heads. */
export interface HeadContext {
  /** Pages of other origins may call (CORS). Their answers have more headers. */
  readonly hasCors: boolean;
  /** Throws when this service may not be called by that name. A remembered head was checked. */
  readonly checkHost: HostCheck;
}

/** Takes the next head of one connection. A client repeats its head, so the last one is remembered with its meaning. */
export class NextHead {
  readonly #context: HeadContext;
  readonly #peer: Peer;
  #last: WrittenHead | null = null;
  /** How many bytes of an incomplete head were searched for its end. */
  #seen = 0;

  constructor(context: HeadContext, peer: Peer) {
    this.#context = context;
    this.#peer = peer;
  }

  /** Takes a head. Null: more bytes are needed. Throws the failure to answer with. */
  take(received: ByteBuffer): WrittenHead | null {
    const last = this.#last;
    if (last !== null && startsWith(received, last.bytes)) {
      this.#seen = 0;
      received.consume(last.bytes.length);
      return last;
    }
    const { bytes, start } = received;
    // An end that arrived in two pieces begins up to three bytes before the second piece.
    const found = bytes.subarray(start, received.end).indexOf(END_OF_HEAD, Math.max(0, this.#seen - 3), 'latin1');
    if (found > MAX_HEAD_BYTES || (found < 0 && received.length > MAX_HEAD_BYTES)) {
      throw new AppError('HEADERS_TOO_LARGE', `The headers have more than ${MAX_HEAD_BYTES} bytes.`);
    }
    if (found < 0) {
      this.#checkBeginning(received);
      this.#seen = received.length;
      return null;
    }
    this.#seen = 0;
    const head = parseHead(bytes.toString('latin1', start, start + found), this.#context.checkHost);
    const length = found + END_OF_HEAD.length;
    const isVerification = this.#isVerification(head);
    const isRemembered = isVerification && length <= MAX_REMEMBERED;
    const written = {
      // A copy, so that the bytes around it are not kept in memory.
      bytes: isRemembered ? Buffer.from(bytes.subarray(start, start + length)) : NOTHING,
      head,
      isVerification,
      asking: { headers: head.headers, peer: this.#peer },
    };
    if (isRemembered) this.#last = written;
    received.consume(length);
    return written;
  }

  /** Refuses what cannot become a head at once, instead of waiting for the rest of it. */
  #checkBeginning({ bytes, start, end }: ByteBuffer): void {
    const first = bytes[start] ?? 0;
    if (first < FIRST_OF_TOKEN || first > LAST_OF_TOKEN) {
      throw new AppError('BAD_REQUEST', 'This is not an HTTP request. This port accepts HTTP/1.1 without TLS.');
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
      !(this.#context.hasCors && headers.get('origin') !== null)
    );
  }
}

const NOTHING = Buffer.alloc(0);

function startsWith({ bytes, start, length }: ByteBuffer, beginning: Buffer): boolean {
  return length >= beginning.length && beginning.compare(bytes, start, start + beginning.length) === 0;
}
