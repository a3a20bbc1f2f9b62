import { monotonicMs } from '../../bunPlatform.ts';
import { barOf } from '../import/state.ts';
import type { Io } from '../io.ts';

const REDRAW_MS = 100;

/** Shows on a terminal how far an export or an import has come. */
export class DataProgress {
  readonly #io: Io;
  /** Size of the file that is read. Null: unknown. */
  readonly #totalBytes: number | null;
  readonly #startedAtMs = monotonicMs();
  #drawnAtMs: number | null = null;

  constructor(io: Io, totalBytes: number | null) {
    this.#io = io;
    this.#totalBytes = totalBytes;
  }

  show({ rows, table, bytes }: { readonly rows: number; readonly table: string; readonly bytes: number }): void {
    const nowMs = monotonicMs();
    if (!this.#io.isTerminal || (this.#drawnAtMs !== null && nowMs - this.#drawnAtMs < REDRAW_MS)) return;
    this.#drawnAtMs = nowMs;
    const perSecond = Math.round((rows * 1000) / Math.max(1, nowMs - this.#startedAtMs));
    const bar = this.#totalBytes === null ? '' : `${barOf(Math.min(1, bytes / Math.max(1, this.#totalBytes)))}  `;
    // The escape sequence clears the rest of a longer line.
    this.#io.err(`\r${bar}${rows} rows  ${perSecond}/s  ${table}\u001b[K`);
  }

  /** Ends the line that was drawn. */
  end(): void {
    if (this.#drawnAtMs !== null) this.#io.err('\r\u001b[K');
  }
}
