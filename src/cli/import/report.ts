import { closeSync, existsSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs';

import { failed } from '../cliError.ts';

/** The rows that failed, one line of JSON each: the line number and the reason, never the key. */
export class FailureReport {
  readonly path: string;
  #file: number | null = null;
  #bytes: number;

  /** Keeps the first `bytes` of a report that an interrupted import has left. */
  constructor(path: string, bytes: number) {
    this.path = path;
    this.#bytes = bytes > 0 && existsSync(path) ? bytes : 0;
    // Rows reported after the last saved progress are sent and reported again.
    if (this.#bytes === 0) rmSync(path, { force: true });
    else truncateSync(path, bytes);
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(line: number, reason: string): void {
    this.#file ??= this.#open();
    const text = `${JSON.stringify({ line, reason })}\n`;
    this.#bytes += writeSync(this.#file, text, this.#bytes);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #open(): number {
    try {
      return openSync(this.path, this.#bytes === 0 ? 'w' : 'r+', 0o600);
    } catch (error) {
      const code = (error as { code?: string }).code ?? String(error);
      throw failed(`The report of failed rows cannot be written to ${this.path} (${code}).`);
    }
  }
}
