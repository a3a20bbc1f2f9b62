import { SqliteThread } from './threadClient.ts';
import type { ThreadStart } from './threadMessages.ts';

/** A thread that starts on first use. After a failure, the next use starts a new one. Its work can be repeated. */
export class LazyThread {
  readonly #options: ThreadStart;
  #started: Promise<SqliteThread> | null = null;

  constructor(options: ThreadStart) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#started !== null;
  }

  get(): Promise<SqliteThread> {
    if (this.#started === null) {
      const started = SqliteThread.start(this.#options, () => this.#forget(started));
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
