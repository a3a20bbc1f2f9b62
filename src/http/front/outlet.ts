/** What is written to of a socket. */
interface Writable {
  /** How many of the bytes were taken; negative when it is closed. */
  write(bytes: string | Uint8Array): number;
}

/** Writes to a socket; what that does not take at once waits here until it does. */
export class Outlet {
  readonly #socket: Writable;
  #rest: Uint8Array | null = null;

  constructor(socket: Writable) {
    this.#socket = socket;
  }

  get isBlocked(): boolean {
    return this.#rest !== null;
  }

  /** `length` is that of `bytes` when written. Not to be called while it is blocked. */
  write(bytes: string | Uint8Array, length: number): void {
    const written = this.#socket.write(bytes);
    // A closed socket takes nothing more: nobody waits for the rest.
    if (written === length || written < 0) return;
    this.#rest = (typeof bytes === 'string' ? Buffer.from(bytes) : bytes).subarray(written);
  }

  /** The socket takes more again. */
  drain(): void {
    const rest = this.#rest;
    this.#rest = null;
    if (rest !== null) this.write(rest, rest.length);
  }
}
