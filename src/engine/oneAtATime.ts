import { AppError } from '../core/errors.ts';

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
