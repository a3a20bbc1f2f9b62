import { Held } from './byteBuffer.ts';
import { OWN_BYTES, type Store } from './memoryBudget.ts';

interface Pausable {
  pause(): void;
  resume(): void;
}

/** What has come on a connection and is not read yet. While that is much, the client has to wait. */
export class Inbox extends Held {
  readonly #socket: Pausable;
  #isPaused = false;

  constructor(socket: Pausable, store: Store) {
    super(store);
    this.#socket = socket;
  }

  /** What is here has to wait for an answer: more is taken only if this is little. */
  holdBack(): void {
    if (this.length <= OWN_BYTES) return this.takeMore();
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  takeMore(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }
}
