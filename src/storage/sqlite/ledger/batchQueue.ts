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
 * One batch runs at a time. A heavy item, such as a change of a thousand records, is a batch by itself, and other items have a batch before
 * each of them: they wait for one heavy item at the most.
 */
export class BatchQueue<T> {
  readonly #run: (items: readonly T[]) => Promise<void>;
  #waiting: T[] = [];
  readonly #heavy: T[] = [];
  #isRunning = false;
  #idle: Promise<void> = Promise.resolve();

  /** `run` never throws. */
  constructor(run: (items: readonly T[]) => Promise<void>) {
    this.#run = run;
  }

  get length(): number {
    return this.#waiting.length + this.#heavy.length;
  }

  add(item: T, isHeavy = false): void {
    (isHeavy ? this.#heavy : this.#waiting).push(item);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#idle = new Promise((done) => {
      // After the sockets that are readable in this turn: what they bring joins the first batch.
      setImmediate(() => this.#collect(0, MAX_TURNS, done));
    });
  }

  async untilIdle(): Promise<void> {
    while (this.length > 0 || this.#isRunning) await this.#idle;
  }

  /** What arrives while a crowd is read joins its batch: a flush for 64 costs little more than one for 32. */
  #collect(seen: number, turnsLeft: number, done: () => void): void {
    const waiting = this.#waiting.length;
    if (waiting - seen < CROWD || turnsLeft === 0) void this.#drain().then(done);
    else setImmediate(() => this.#collect(waiting, turnsLeft - 1, done));
  }

  async #drain(): Promise<void> {
    for (let isHeavyNext = false; this.length > 0; isHeavyNext = !isHeavyNext) {
      const heavy = isHeavyNext || this.#waiting.length === 0 ? this.#heavy.shift() : undefined;
      await this.#run(heavy === undefined ? this.#take() : [heavy]);
      // Requests that need no commit get a turn before the requests that followed the answers.
      if (this.length > 0) await new Promise((go) => setImmediate(go));
    }
    this.#isRunning = false;
  }

  #take(): readonly T[] {
    const items = this.#waiting.length <= MAX_BATCH ? this.#waiting : this.#waiting.slice(0, MAX_BATCH);
    this.#waiting = items === this.#waiting ? [] : this.#waiting.slice(MAX_BATCH);
    return items;
  }
}
