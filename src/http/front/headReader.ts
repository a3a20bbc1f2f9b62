import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import type { Asking, Peer } from '../service.ts';
import { readHead, type RequestHead } from './head.ts';

/** A head is remembered for the next request if it is no longer than this. */
const MAX_REMEMBERED = 1024;
const END_OF_HEAD = '\r\n\r\n';

/** A head, and how it was written, with the empty line at its end. */
export interface WrittenHead {
  readonly bytes: Buffer;
  readonly head: RequestHead;
  /** It asks for nothing but a verification. */
  readonly isVerification: boolean;
  readonly asking: Asking;
}

/** Reads the heads of one connection. A client sends the same one again and again: what it means is known then. */
export class HeadReader {
  readonly #hasCors: boolean;
  readonly #peer: Peer;
  #last: WrittenHead | null = null;

  constructor(hasCors: boolean, peer: Peer) {
    this.#hasCors = hasCors;
    this.#peer = peer;
  }

  /** Null: not one that is read here. Undefined: more has to come first. */
  read(bytes: Buffer): WrittenHead | null | undefined {
    const last = this.#last;
    if (last !== null && startsWith(bytes, last.bytes)) return last;
    const end = bytes.indexOf(END_OF_HEAD, 0, 'latin1');
    if (end < 0) return undefined;
    const head = readHead(bytes.toString('latin1', 0, end));
    if (head === null) return null;
    const written = {
      // A copy: what came with it is not kept.
      bytes: Buffer.from(bytes.subarray(0, end + END_OF_HEAD.length)),
      head,
      isVerification: this.#isVerification(head),
      asking: { headers: head.headers, peer: this.#peer },
    };
    if (written.isVerification && written.bytes.length <= MAX_REMEMBERED) this.#last = written;
    return written;
  }

  #isVerification({ method, target, bodyBytes, headers }: RequestHead): boolean {
    return (
      method === 'POST' &&
      target === verifyKey.path &&
      bodyBytes <= MAX_VERIFY_BODY_BYTES &&
      // The answer to a page of another origin has more headers.
      !(this.#hasCors && headers.get('origin') !== null)
    );
  }
}

function startsWith(bytes: Buffer, beginning: Buffer): boolean {
  return bytes.length >= beginning.length && beginning.compare(bytes, 0, beginning.length) === 0;
}
