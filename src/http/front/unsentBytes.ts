import type { Store } from './memoryBudget.ts';

/** What is written to of a socket. */
interface Writable {
  /** How many of the bytes were taken; negative when it is closed. */
  write(bytes: string | Uint8Array): number;
  terminate(): void;
}

const NOTHING = new Uint8Array(0);

/**
 * Writes to a socket; what that does not take at once waits here until it does. The memory for it comes out of the store: a client that
 * is sent more than is left there is cut off.
 */
export class Outlet {
  readonly #socket: Writable;
  readonly #store: Store;
  #rest: Uint8Array | null = null;
  /** Taken of the store: a rest holds all that it was cut from. */
  #taken = 0;

  constructor(socket: Writable, store: Store) {
    this.#socket = socket;
    this.#store = store;
  }

  get isBlocked(): boolean {
    return this.#rest !== null;
  }

  /** `length` is that of `bytes` when written. Not to be called while it is blocked. */
  write(bytes: string | Uint8Array, length: number): void {
    const written = this.#socket.write(bytes);
    // A closed socket takes nothing more: nobody waits for the rest.
    if (written === length || written < 0) return;
    if (this.#store.take(length, length)) {
      this.#taken = length;
      this.#rest = (typeof bytes === 'string' ? Buffer.from(bytes) : bytes).subarray(written);
    } else {
      // It stays blocked until it is closed: nothing more is answered.
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

  /** Nothing waits any more: it is written, or the socket is closed. */
  clear(): void {
    this.#rest = null;
    this.#store.giveBack(this.#taken);
    this.#taken = 0;
  }
}
