/** Bytes that are held at the most before nothing more is taken; head and body of a request that is read here have no more. */
export const MAX_HELD_BYTES = 16 * 1024;

interface Pausable {
  pause(): void;
  resume(): void;
}

/** What has come on a connection and is not read yet. While that is much, the client has to wait. */
export class Inbox {
  readonly #socket: Pausable;
  #held: Buffer | null = null;
  #isPaused = false;

  constructor(socket: Pausable) {
    this.#socket = socket;
  }

  /** All that is there, with what has just come. */
  takeWith(bytes: Buffer): Buffer {
    const held = this.take();
    return held === null ? bytes : Buffer.concat([held, bytes]);
  }

  take(): Buffer | null {
    const held = this.#held;
    this.#held = null;
    return held;
  }

  keep(bytes: Buffer): void {
    this.#held = bytes;
    if (bytes.length <= MAX_HELD_BYTES || this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** Takes more again, if there is room. */
  relax(): void {
    if (!this.#isPaused || (this.#held?.length ?? 0) > MAX_HELD_BYTES) return;
    this.#isPaused = false;
    this.#socket.resume();
  }
}
