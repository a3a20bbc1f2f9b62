import type { Memory } from './memoryBudget.ts';

/** The part of a socket that is written to. */
interface Writable {
  /** How many of the bytes the socket took; negative when it is closed. */
  write(bytes: string | Uint8Array): number;
  terminate(): void;
}

const NOTHING = new Uint8Array(0);

/**
 * Writes to a socket. Bytes that the socket does not take at once wait here. Their memory comes from the budget: when not enough is left,
 * the client is cut off.
 */
export class UnsentBytes {
  readonly #socket: Writable;
  readonly #memory: Memory;
  #rest: Uint8Array | null = null;
  /** Taken from the memory budget. The rest of an answer keeps the whole answer in memory. */
  #taken = 0;

  constructor(socket: Writable, memory: Memory) {
    this.#socket = socket;
    this.#memory = memory;
  }

  get isBlocked(): boolean {
    return this.#rest !== null;
  }

  /** `length` is the number of bytes. Must not be called while blocked. */
  write(bytes: string | Uint8Array, length: number): void {
    const written = this.#socket.write(bytes);
    // A closed socket takes nothing more, and nobody waits for the rest.
    if (written === length || written < 0) return;
    if (this.#memory.take(length, length)) {
      this.#taken = length;
      this.#rest = (typeof bytes === 'string' ? Buffer.from(bytes) : bytes).subarray(written);
    } else {
      // It stays blocked until the socket is closed, so no further request is answered.
      this.#rest = NOTHING;
      this.#socket.terminate();
    }
  }

  /** The socket takes more again. */
  drain(): void {
    if (this.#rest === null || this.#taken === 0) return;
    const written = this.#socket.write(this.#rest);
    if (written === this.#rest.length || written < 0) this.clear();
    else this.#rest = this.#rest.subarray(written);
  }

  /** Forgets the unsent bytes: they were written, or the socket is closed. */
  clear(): void {
    this.#rest = null;
    this.#memory.giveBack(this.#taken);
    this.#taken = 0;
  }
}
