/** Items of one batch at the most: bounds its time and the size of its log row. */
const MAX_BATCH = 2048;
/** When a turn of the event loop brings this many new items, the queue waits for one more turn. */
const CROWD = 4;
/** Turns that the queue waits at the most. */
const MAX_TURNS = 4;

/**
 * Decides which items form the next batch. There is no timer:
 *
 *   idle --item arrives--> collecting --a turn of the event loop brings few more--> running a batch
 *   running --done--> running the next batch, of what arrived meanwhile --nothing has arrived--> idle
 *
 * One batch runs at a time.
 */
export class BatchQueue<T> {
  readonly #run: (items: readonly T[]) => Promise<void>;
  #waiting: T[] = [];
  #isRunning = false;
  #idle: Promise<void> = Promise.resolve();

  /** `run` never throws. */
  constructor(run: (items: readonly T[]) => Promise<void>) {
    this.#run = run;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#idle = new Promise((done) => {
      // After the sockets that are readable in this turn: what they bring joins the first batch.
      setImmediate(() => this.#collect(0, MAX_TURNS, done));
    });
  }

  async untilIdle(): Promise<void> {
    while (this.#waiting.length > 0 || this.#isRunning) await this.#idle;
  }

  /** What arrives while a crowd is read joins its batch: a flush for 64 costs little more than one for 32. */
  #collect(seen: number, turnsLeft: number, done: () => void): void {
    const waiting = this.#waiting.length;
    if (waiting - seen < CROWD || turnsLeft === 0) void this.#drain().then(done);
    else setImmediate(() => this.#collect(waiting, turnsLeft - 1, done));
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const items = this.#waiting.length <= MAX_BATCH ? this.#waiting : this.#waiting.slice(0, MAX_BATCH);
      this.#waiting = items === this.#waiting ? [] : this.#waiting.slice(MAX_BATCH);
      await this.#run(items);
      // Requests that need no commit get a turn before the requests that followed the answers.
      if (this.#waiting.length > 0) await new Promise((go) => setImmediate(go));
    }
    this.#isRunning = false;
  }
}
