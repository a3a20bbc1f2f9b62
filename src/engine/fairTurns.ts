import { FairQueue } from '../basics/fairQueue.ts';
import { AppError } from '../core/errors.ts';

/** How long requests that wait for a turn are answered, before the event loop serves everything else. */
export const TURN_MS = 4;
/** After so long, work on a large request gives way; after TURN_MS while small ones wait. */
export const PIECE_MS = 10;
/** Steps of promises that answering a request takes at the most, where it waits for nothing else. Measured: 30. */
const STEPS_OF_A_REQUEST = 40;

/** A connection that has a request to answer, and waits for a turn. */
export interface Waiting {
  /** Answers it. False: it goes on in promises. */
  goOn(): boolean;
}

/**
 * Keeps clients that send much from holding up the others. Everything is answered by one thread, in passes of its event loop:
 *
 *   what arrives   A small verification that is alone on its connection is answered at once, and asks for no turn. Other requests share
 *                  TURN_MS. Those beyond wait.
 *   the end        Requests that wait share TURN_MS. Then one piece of work on a large request is done: it waits for its turn before its
 *                  body is read (`wait`), and gives way when it has taken PIECE_MS (`giveWay`).
 *
 * So a pass takes about 2 x TURN_MS + PIECE_MS, however many wait, and where many small requests wait, they have half of the time. Clients
 * take turns, not requests: an address, or a root key, with many requests has the share of one. Nobody is refused.
 */
export class Turns {
  readonly #monotonicMs: () => number;
  readonly #afterOthers: (work: () => void) => void;
  readonly #requests = new FairQueue<Waiting>();
  readonly #pieces = new FairQueue<() => void>();
  /** The end of this pass is asked for. */
  #isArmed = false;
  /** When the requests or the piece of this pass began; null = none has begun. */
  #beganAtMs: number | null = null;
  /** A piece of work was let go on, and no request has begun since. */
  #isInPiece = false;

  /** `afterOthers` runs work at the end of this pass of the event loop. */
  constructor(monotonicMs: () => number, afterOthers: (work: () => void) => void) {
    this.#monotonicMs = monotonicMs;
    this.#afterOthers = afterOthers;
  }

  /** Whether one more request may be answered now. If not, the caller calls `waitForTurn`. */
  mayGoOn(): boolean {
    if (!this.#requests.isEmpty) return false;
    if (this.#isInPiece) this.#beganAtMs = null;
    this.#isInPiece = false;
    return this.#tookMs() < TURN_MS;
  }

  /** Must be called only after `mayGoOn` answered no, and once until `goOn` is called. */
  waitForTurn(client: string, who: Waiting): void {
    this.#requests.add(client, who);
    this.#arm();
  }

  /** Waits until a piece of work on a large request may be done. Fails when the client leaves meanwhile. */
  wait(client: string, gone?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#pieces.remove(client, goOn);
      reject(new AppError('BAD_REQUEST', 'The client has left before it was the turn of its request.'));
    };
    const goOn = (): void => {
      gone?.removeEventListener('abort', leave);
      resolve();
    };
    if (gone?.aborted === true) leave();
    else {
      gone?.addEventListener('abort', leave, { once: true });
      this.#pieces.add(client, goOn);
      this.#arm();
    }
    return promise;
  }

  /** Null: the work may go on. Otherwise it goes on when this resolves: it has taken long, and it is the turn of others. */
  giveWay(client: string): Promise<void> | null {
    if (this.#tookMs() < (this.#requests.isEmpty ? PIECE_MS : TURN_MS)) return null;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pieces.addFirst(client, resolve);
    return promise;
  }

  /** Does a step for each item, and gives way between two of them. A step that answers false is the last one. */
  async each<T>(client: string, items: Iterable<T>, step: (item: T, index: number) => unknown): Promise<void> {
    let index = 0;
    for (const item of items) {
      const done = step(item, index++);
      if ((done instanceof Promise ? await done : done) === false) return;
      const pause = this.giveWay(client);
      if (pause !== null) await pause;
    }
  }

  #tookMs(): number {
    this.#arm();
    const nowMs = this.#monotonicMs();
    return nowMs - (this.#beganAtMs ??= nowMs);
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#afterOthers(() => void this.#end());
  }

  async #end(): Promise<void> {
    this.#isArmed = false;
    this.#isInPiece = false;
    this.#beganAtMs = null;
    if (this.#requests.isEmpty && this.#pieces.isEmpty) return;
    this.#tookMs();
    // At least one of them goes on, whatever the clock says.
    do await this.#answerNext();
    while (!this.#requests.isEmpty && this.#tookMs() < TURN_MS);
    const piece = this.#pieces.take();
    if (piece === undefined) return;
    this.#beganAtMs = null;
    this.#tookMs();
    this.#isInPiece = true;
    piece();
  }

  /** With what it does in promises. Nothing else comes in between: the event loop waits for them. */
  async #answerNext(): Promise<void> {
    if (this.#requests.take()?.goOn() !== false) return;
    for (let i = 0; i < STEPS_OF_A_REQUEST; i++) await Promise.resolve();
  }
}

/** Callers that may wait under one name, including the one that runs. */
const MAX_WAITING = 1000;

interface Queue {
  last: Promise<unknown>;
  waiting: number;
}

/** Runs work one at a time under each name, so that each run sees what the one before it made. */
export class OneAtATime {
  readonly #queues = new Map<string, Queue>();
  readonly #refusal: string;

  constructor(refusal: string) {
    this.#refusal = refusal;
  }

  /** Work under this name runs or waits. */
  isBusy(name: string): boolean {
    return this.#queues.has(name);
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(name) ?? { last: Promise.resolve(), waiting: 0 };
    if (queue.waiting >= MAX_WAITING) throw new AppError('UNAVAILABLE', this.#refusal);
    this.#queues.set(name, queue);
    queue.waiting++;
    const done = queue.last.then(work, work);
    queue.last = done;
    try {
      return await done;
    } finally {
      queue.waiting--;
      if (queue.waiting === 0) this.#queues.delete(name);
    }
  }
}
