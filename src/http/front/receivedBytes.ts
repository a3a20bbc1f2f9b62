import { ByteBuffer } from './byteBuffer.ts';
import { OWN_BYTES, type Memory } from './memoryBudget.ts';

interface Pausable {
  pause(): void;
  resume(): void;
}

/** The bytes that a connection has received and not read yet. While they are many, the socket is paused. */
export class ReceivedBytes extends ByteBuffer {
  readonly #socket: Pausable;
  #isPaused = false;

  constructor(socket: Pausable, memory: Memory) {
    super(memory);
    this.#socket = socket;
  }

  /** These bytes wait for an answer to end. More are received only while these are few. */
  holdBack(): void {
    if (this.length <= OWN_BYTES) return this.takeMore();
    this.stop();
  }

  /** Nothing is received until `takeMore`. */
  stop(): void {
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
