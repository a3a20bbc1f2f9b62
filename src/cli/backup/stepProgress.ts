import { statSync } from 'node:fs';

import type { BackupStep } from '../../storage/sqlite/backup/makeBackup.ts';
import { barOf } from '../import/progress.ts';
import type { Io } from '../io.ts';

const REDRAW_MS = 100;

/** Shows on a terminal how far the file of a step has grown. The work itself runs in another thread. */
export class StepProgress {
  readonly #io: Io;
  #step: BackupStep | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(io: Io) {
    this.#io = io;
  }

  begin(step: BackupStep): void {
    if (!this.#io.isTerminal) return;
    this.#step = step;
    this.#draw();
    this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS);
  }

  /** Ends the line that was drawn. */
  end(): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#io.err('\r\u001b[K');
  }

  #draw(): void {
    if (this.#step === null) return;
    const { name, path, bytes } = this.#step;
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    // The escape sequence clears the rest of a longer line.
    this.#io.err(`\r${barOf(Math.min(1, size / Math.max(1, bytes)))}  ${name}\u001b[K`);
  }
}
