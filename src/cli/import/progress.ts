import { monotonicMs } from '../../system.ts';
import type { Io } from '../io.ts';
import type { Counts } from './state.ts';

const BAR_WIDTH = 30;
/** The shortest time between two updates on a terminal. */
const REDRAW_MS = 100;
/** Without a terminal, a line is written for each tenth of a file, or for this many keys from a pipe. */
const KEYS_PER_LINE = 100_000;

/** Shows the progress of an import on standard error. */
export class Progress {
  readonly #io: Io;
  /** Size of the file. Null: unknown. */
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

  /** Ends the line that was drawn. */
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
    // The escape sequence clears the rest of a longer line.
    this.#io.err(`\r${bar}${words(counts)}  ${perSecond}/s\u001b[K`);
  }

  #print(counts: Counts, offset: number): void {
    const step =
      this.#totalBytes === null
        ? Math.floor(sum(counts) / KEYS_PER_LINE)
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

/** A bar for a share from 0 to 1. */
export function barOf(share: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor(share * BAR_WIDTH));
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${Math.floor(share * 100)}%`;
}

function words({ imported, present, failed }: Counts): string {
  return [
    `${imported} imported`,
    ...(present === 0 ? [] : [`${present} already there`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
  ].join(', ');
}
