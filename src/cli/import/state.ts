import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { failed } from '../cliError.ts';
import type { Io } from '../io.ts';
import { monotonicMs } from '../../bunPlatform.ts';

/** How many keys had which result. */
export interface Counts {
  readonly imported: number;
  readonly present: number;
  readonly failed: number;
}

/** The progress of an import: all rows before `offset` are done. */
export interface Mark extends Counts {
  readonly offset: number;
  /** Size of the report of failed rows. */
  readonly reportBytes: number;
}

export const BEGINNING: Mark = { offset: 0, imported: 0, present: 0, failed: 0, reportBytes: 0 };

/** The file of an import and its target. An import continues only from the progress of the same subject. */
interface Subject {
  readonly target: string;
  readonly apiId: string | null;
  readonly mustExist: boolean;
  readonly format: string;
  readonly size: number;
  readonly modifiedAtMs: number;
}

export function subjectOf(path: string, to: Pick<Subject, 'target' | 'apiId' | 'mustExist' | 'format'>): Subject {
  const { size, mtimeMs } = statSync(path);
  return { ...to, size, modifiedAtMs: mtimeMs };
}

/** A small file next to the imported file that holds the progress. Each save writes a new file and renames it. */
export class StateFile {
  readonly #path: string;
  readonly #subject: Subject;

  constructor(path: string, subject: Subject) {
    this.#path = path;
    this.#subject = subject;
  }

  /** The progress of an interrupted import of the same file to the same target. Null: there is none. */
  find(): Mark | null {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch {
      return null;
    }
    try {
      const { subject, mark } = JSON.parse(text) as { subject: Subject; mark: Mark };
      return JSON.stringify(subject) === JSON.stringify(this.#subject) ? mark : null;
    } catch {
      return null;
    }
  }

  save(mark: Mark): void {
    const newPath = `${this.#path}.new`;
    try {
      writeFileSync(newPath, `${JSON.stringify({ subject: this.#subject, mark })}\n`, { mode: 0o600 });
      renameSync(newPath, this.#path);
    } catch (error) {
      const code = (error as { code?: string }).code ?? String(error);
      throw failed(
        `The progress of the import cannot be saved in ${this.#path} (${code}).`,
        'Copy the file to a folder that you can write to, or pipe it in and give - instead of its name.',
      );
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

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

function sum(counts: Counts): number {
  return counts.imported + counts.present + counts.failed;
}

/** A bar for a share from 0 to 1. */
export function barOf(share: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor(share * BAR_WIDTH));
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${Math.floor(share * 100)}%`;
}

function words(counts: Counts): string {
  return [
    `${counts.imported} imported`,
    ...(counts.present === 0 ? [] : [`${counts.present} already there`]),
    ...(counts.failed === 0 ? [] : [`${counts.failed} failed`]),
  ].join(', ');
}
