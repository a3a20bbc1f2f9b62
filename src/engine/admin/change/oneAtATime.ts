import { AppError } from '../../../core/errors.ts';

/** Those who may wait in one line. */
const MAX_WAITING = 1000;

interface Line {
  last: Promise<unknown>;
  waiting: number;
}

/** Work that is done one at a time under each name: the next one sees what this one made, and a bound holds. */
export class Lines {
  readonly #lines = new Map<string, Line>();
  readonly #refusal: string;

  constructor(refusal: string) {
    this.#refusal = refusal;
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(name) ?? { last: Promise.resolve(), waiting: 0 };
    if (line.waiting >= MAX_WAITING) throw new AppError('UNAVAILABLE', this.#refusal);
    this.#lines.set(name, line);
    line.waiting++;
    const done = line.last.then(work, work);
    line.last = done;
    try {
      return await done;
    } finally {
      line.waiting--;
      if (line.waiting === 0) this.#lines.delete(name);
    }
  }
}
