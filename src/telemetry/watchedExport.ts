import { type ExportResult, ExportResultCode } from '@opentelemetry/core';

import type { Log } from '../log.ts';

/** Logs that the collector does not take something when that begins and when it ends, not each time. */
export class CollectorWatch {
  readonly #log: Log;
  readonly #endpoint: string;
  readonly #failing = new Set<string>();

  constructor(endpoint: string, log: Log) {
    this.#endpoint = endpoint;
    this.#log = log;
  }

  noted(what: string, { code, error }: ExportResult): void {
    const isFailing = code === ExportResultCode.FAILED;
    if (isFailing === this.#failing.has(what)) return;
    const collector = this.#endpoint;
    if (isFailing) {
      this.#failing.add(what);
      this.#log.warn(`${what} cannot be sent to the collector; they are dropped, and the service goes on without`, {
        collector,
        reason: error?.message ?? 'it gave no reason',
      });
    } else {
      this.#failing.delete(what);
      this.#log.info(`${what} reach the collector again`, { collector });
    }
  }
}

interface Exporter<T> {
  export(items: T, done: (result: ExportResult) => void): void;
}

/** Tells the watch how every export of this exporter ends. */
export function watched<E extends Exporter<never>>(exporter: E, what: string, watch: CollectorWatch): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      watch.noted(what, result);
      done(result);
    });
  return exporter;
}
