import type { Socket } from 'bun';

export type Side = Pick<Socket, 'pause' | 'resume' | 'write' | 'shutdown' | 'terminate'>;

/** The state of the network, shared by both directions of all connections. */
export interface Line {
  /** The delay of one direction. */
  readonly delayMs: number;
  readonly isHanging: boolean;
}

interface Item {
  readonly dueAtMs: number;
  /** Bytes that are not yet written, or how the sender closed. */
  content: Buffer | 'ended' | 'broke off';
  isAdmitted: boolean;
}

/** With more queued bytes the sender is paused. */
const MAX_QUEUED_BYTES = 1_000_000;

/** One direction of a connection. Forwards the bytes of one socket to the other, delayed and in the same order. */
export class Flow {
  forwarded = 0;
  /** Whether the receiver has seen the end of the data. */
  hasEnded = false;
  readonly #line: Line;
  readonly #from: () => Side | null;
  readonly #to: () => Side | null;
  /** Called before the first byte of each chunk is forwarded. Returns false after it has reset the connection. */
  readonly #admit: (bytes: Buffer) => boolean;
  readonly #queue: Item[] = [];
  #queuedBytes = 0;
  #isSenderPaused = false;
  #timer: Timer | null = null;

  constructor(
    line: Line,
    from: () => Side | null,
    to: () => Side | null,
    admit: (bytes: Buffer) => boolean = () => true,
  ) {
    this.#line = line;
    this.#from = from;
    this.#to = to;
    this.#admit = admit;
  }

  push(content: Item['content']): void {
    this.#queue.push({ dueAtMs: performance.now() + this.#line.delayMs, content, isAdmitted: false });
    if (content instanceof Buffer) this.#queuedBytes += content.length;
    if (this.#queuedBytes > MAX_QUEUED_BYTES) this.#holdSender(true);
    this.run();
  }

  /** Forwards the chunks that are due. Called again when a delay ends, the receiver can take more, or the line changes. */
  run(): void {
    for (let item = this.#queue[0]; item !== undefined; item = this.#queue[0]) {
      const to = this.#to();
      if (to === null || this.#line.isHanging) return;
      const waitMs = item.dueAtMs - performance.now();
      if (waitMs > 0) return this.#runIn(waitMs);
      if (!this.#forward(item, to)) return;
      this.#queue.shift();
    }
  }

  drop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#queue.length = 0;
  }

  #runIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.run();
    }, ms);
  }

  /** Returns whether the whole item is forwarded. */
  #forward(item: Item, to: Side): boolean {
    if (item.content === 'ended') {
      this.hasEnded = true;
      to.shutdown();
      return true;
    }
    if (item.content === 'broke off') {
      to.terminate();
      return true;
    }
    item.isAdmitted ||= this.#admit(item.content);
    if (!item.isAdmitted) return false;
    const written = Math.max(0, to.write(item.content));
    this.forwarded += written;
    this.#queuedBytes -= written;
    if (this.#queuedBytes < MAX_QUEUED_BYTES / 2) this.#holdSender(false);
    item.content = item.content.subarray(written);
    return item.content.length === 0;
  }

  #holdSender(isToPause: boolean): void {
    if (isToPause === this.#isSenderPaused) return;
    this.#isSenderPaused = isToPause;
    if (isToPause) this.#from()?.pause();
    else this.#from()?.resume();
  }
}
