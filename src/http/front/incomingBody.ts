import { ChunkedBody } from './chunkedBody.ts';
import type { RequestHead } from './parseHead.ts';
import type { Held } from './byteBuffer.ts';
import type { Store } from './memoryBudget.ts';

export const NO_BODY = Buffer.alloc(0);

/** The body of one request, however its length is told. */
export class IncomingBody {
  readonly #maxBytes: number;
  readonly #bodyBytes: number;
  readonly #chunked: ChunkedBody | null;

  constructor({ bodyBytes, isChunked }: RequestHead, maxBytes: number, store: Store) {
    this.#maxBytes = maxBytes;
    this.#bodyBytes = bodyBytes;
    this.#chunked = isChunked ? new ChunkedBody(maxBytes, store) : null;
  }

  /** It is longer than is taken: its end is not waited for, and nothing behind it can be read. */
  get isCut(): boolean {
    return this.#chunked?.isTooLong ?? this.#bodyBytes > this.#maxBytes;
  }

  /** The whole body, or as much of it as shows that it is too long. Null: more has to come. Throws what is answered instead. */
  take(from: Held): Buffer | null {
    if (this.#chunked !== null) return this.#chunked.read(from) ? this.#chunked.bytes : null;
    // Content-Length already shows that the body is too long: none of it is read.
    if (this.isCut) return NO_BODY;
    if (from.length < this.#bodyBytes) return null;
    const { bytes, start } = from;
    from.consume(this.#bodyBytes);
    return bytes.subarray(start, start + this.#bodyBytes);
  }

  /** How much of it has come. */
  received(from: Held): number {
    return this.#chunked?.length ?? from.length;
  }

  /** How much more is expected beside what is not read yet; unknown of a chunked one. */
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
