/** How long requests that came together are answered before everyone else has a turn. */
export const TURN_MS = 2;

/** Someone with more to do than a turn allows. */
export interface Waiting {
  /** Does a part of it. */
  goOn(): void;
}

/**
 * Who sends many requests at once does not keep the others from being answered. The first request that a connection brings
 * is answered at once; those that came with it are answered for TURN_MS at a time, over all connections together. Between
 * two turns the event loop sees to everyone else. A turn begins with the first request that needs one and ends with the
 * pass of the event loop.
 */
export class Turns {
  readonly #monotonicMs: () => number;
  readonly #afterOthers: (work: () => void) => void;
  /** Null: nobody has asked for a turn in this pass of the event loop. */
  #startedAtMs: number | null = null;
  #waiting: Waiting[] = [];

  constructor(monotonicMs: () => number, afterOthers: (work: () => void) => void = (work) => void setImmediate(work)) {
    this.#monotonicMs = monotonicMs;
    this.#afterOthers = afterOthers;
  }

  /** Whether one more request may be answered now. If not, `later` is called. */
  mayGoOn(): boolean {
    if (this.#startedAtMs === null) {
      this.#start();
      return true;
    }
    return this.#monotonicMs() - this.#startedAtMs < TURN_MS;
  }

  /** To be called only when `mayGoOn` has said no, and once until `goOn` is called. */
  later(who: Waiting): void {
    this.#waiting.push(who);
  }

  #start(): void {
    this.#startedAtMs = this.#monotonicMs();
    this.#afterOthers(() => this.#next());
  }

  #next(): void {
    this.#startedAtMs = null;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#start();
    this.#waiting = [];
    let next = 0;
    // At least one of them gets on, whatever the clock says.
    do waiting[next++]?.goOn();
    while (next < waiting.length && this.mayGoOn());
    // Who has had no turn comes before those who have had one and want another.
    if (next < waiting.length) this.#waiting = [...waiting.slice(next), ...this.#waiting];
  }
}
