import { ChunkedBody } from './chunkedBody.ts';
import type { RequestHead } from './parseHead.ts';
import type { ByteBuffer } from './byteBuffer.ts';
import type { Memory } from './memoryBudget.ts';

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
