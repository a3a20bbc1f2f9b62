import type { TaskLog } from '../../port/tasks.ts';

export interface Watched {
  /** Why the node cannot keep its promises; null = it can. */
  readonly unsafeReason: string | null;
  readonly warnings: readonly string[];
}

/** Logs when a problem of the database begins and when it ends, once each. */
export class WarningWatch {
  readonly #watched: Watched;
  readonly #log: TaskLog;
  #told = new Set<string>();

  constructor(watched: Watched, log: TaskLog) {
    this.#watched = watched;
    this.#log = log;
  }

  look(): void {
    const { unsafeReason, warnings } = this.#watched;
    const now = new Set(unsafeReason === null ? warnings : [unsafeReason, ...warnings]);
    for (const problem of now) {
      if (this.#told.has(problem)) continue;
      const fields = { problem };
      if (problem === unsafeReason) this.#log.error('the database is not safe: this node is not ready', fields);
      else this.#log.warn('the database is less safe than it could be', fields);
    }
    for (const problem of this.#told)
      if (!now.has(problem)) this.#log.info('a problem of the database has ended', { problem });
    this.#told = now;
  }
}
