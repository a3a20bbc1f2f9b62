/** How long requests that arrived together are answered before other connections have a turn. */
export const TURN_MS = 2;

/** A connection that has more to do than one turn allows. */
export interface Waiting {
  /** Does a part of it. */
  goOn(): void;
}

/**
 * Keeps a client that sends many requests at once from holding up the others. The first request of a connection is answered at once. The
 * requests that arrived with it share turns of TURN_MS over all connections. Between two turns the event loop serves everything else. A
 * turn begins with the first request that needs one and ends with the pass of the event loop.
 */
export class FairTurns {
  readonly #monotonicMs: () => number;
  readonly #afterOthers: (work: () => void) => void;
  /** Null: no turn has begun in this pass of the event loop. */
  #startedAtMs: number | null = null;
  #waiting: Waiting[] = [];

  constructor(monotonicMs: () => number, afterOthers: (work: () => void) => void = (work) => void setImmediate(work)) {
    this.#monotonicMs = monotonicMs;
    this.#afterOthers = afterOthers;
  }

  /** Whether one more request may be answered now. If not, the caller calls `waitForTurn`. */
  mayGoOn(): boolean {
    if (this.#startedAtMs === null) {
      this.#start();
      return true;
    }
    return this.#monotonicMs() - this.#startedAtMs < TURN_MS;
  }

  /** Must be called only after `mayGoOn` answered no, and once until `goOn` is called. */
  waitForTurn(who: Waiting): void {
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
    // At least one of them goes on, whatever the clock says.
    do waiting[next++]?.goOn();
    while (next < waiting.length && this.mayGoOn());
    // Those that had no turn come before those that want another one.
    if (next < waiting.length) this.#waiting = [...waiting.slice(next), ...this.#waiting];
  }
}
