import { monotonicMs } from '../../system.ts';
import type { Io } from '../io.ts';
import type { Counts } from './state.ts';

const BAR_WIDTH = 30;
/** A terminal is written to no more often than a person can read. */
const REDRAW_MS = 100;
/** Without a terminal there is a line for each tenth of the file, or for so many keys of a pipe. */
const KEYS_A_LINE = 100_000;

/** How far the import is, on standard error. */
export class Progress {
  readonly #io: Io;
  /** Of the whole file; null = not known. */
  readonly #totalBytes: number | null;
  readonly #startedAtMs = monotonicMs();
  #before = 0;
  #drawnAtMs = -Infinity;
  #step: number | null = null;

  constructor(io: Io, totalBytes: number | null) {
    this.#io = io;
    this.#totalBytes = totalBytes;
  }

  show(counts: Counts, offset: number): void {
    if (this.#io.isTerminal) this.#draw(counts, offset);
    else this.#print(counts, offset);
  }

  /** Leaves the line that was drawn. */
  end(): void {
    if (this.#io.isTerminal && this.#drawnAtMs > -Infinity) this.#io.err('\n');
  }

  #draw(counts: Counts, offset: number): void {
    const nowMs = monotonicMs();
    const isEnd = offset === this.#totalBytes;
    if (this.#drawnAtMs === -Infinity) this.#before = sum(counts);
    if (!isEnd && nowMs - this.#drawnAtMs < REDRAW_MS) return;
    this.#drawnAtMs = nowMs;
    const perSecond = Math.round(((sum(counts) - this.#before) * 1000) / Math.max(1, nowMs - this.#startedAtMs));
    const bar = this.#totalBytes === null ? '' : `${barOf(offset / this.#totalBytes)}  `;
    // Clears what a longer line has left.
    this.#io.err(`\r${bar}${words(counts)}  ${perSecond}/s\u001b[K`);
  }

  #print(counts: Counts, offset: number): void {
    const step =
      this.#totalBytes === null
        ? Math.floor(sum(counts) / KEYS_A_LINE)
        : Math.floor((offset * 10) / Math.max(1, this.#totalBytes));
    const isFirst = this.#step === null;
    if (step === this.#step) return;
    this.#step = step;
    if (isFirst || step === 0) return;
    this.#io.err(`${this.#totalBytes === null ? '' : `${step * 10}%  `}${words(counts)}\n`);
  }
}

function sum({ imported, present, failed }: Counts): number {
  return imported + present + failed;
}

function barOf(part: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor(part * BAR_WIDTH));
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${Math.floor(part * 100)}%`;
}

function words({ imported, present, failed }: Counts): string {
  return [
    `${imported} imported`,
    ...(present === 0 ? [] : [`${present} already there`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
  ].join(', ');
}
