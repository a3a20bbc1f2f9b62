import type { WriteFailure } from '../file/writeFailure.ts';
import { SqliteThread } from './threadClient.ts';
import type { ThreadStart } from './threadMessages.ts';

/** A thread that starts on first use. After a failure, the next use starts a new one. Its work can be repeated. */
export class LazyThread {
  readonly #options: ThreadStart;
  readonly #onFailure: (failure: WriteFailure) => void;
  #started: Promise<SqliteThread> | null = null;

  /** `onFailure` hears of what ended a thread. */
  constructor(options: ThreadStart, onFailure: (failure: WriteFailure) => void = () => {}) {
    this.#options = options;
    this.#onFailure = onFailure;
  }

  get isStarted(): boolean {
    return this.#started !== null;
  }

  get(): Promise<SqliteThread> {
    if (this.#started === null) {
      const started = SqliteThread.start(this.#options, (failure) => {
        this.#forget(started);
        this.#onFailure(failure);
      });
      started.catch(() => this.#forget(started));
      this.#started = started;
    }
    return this.#started;
  }

  async close(): Promise<void> {
    await (await this.#started?.catch(() => null))?.close();
  }

  #forget(started: Promise<SqliteThread>): void {
    if (this.#started === started) this.#started = null;
  }
}
