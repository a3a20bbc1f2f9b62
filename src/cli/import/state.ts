import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { failed } from '../cliError.ts';

/** How many keys met which end. */
export interface Counts {
  readonly imported: number;
  readonly present: number;
  readonly failed: number;
}

/** Up to where an import is: everything before has met its end. */
export interface Mark extends Counts {
  readonly offset: number;
  /** Size of the report of what failed. */
  readonly reportBytes: number;
}

export const BEGINNING: Mark = { offset: 0, imported: 0, present: 0, failed: 0, reportBytes: 0 };

/** What an import is of and where it goes: another one must not go on from the mark of this one. */
export interface Subject {
  readonly target: string;
  readonly apiId: string | null;
  readonly format: string;
  readonly size: number;
  readonly modifiedAtMs: number;
}

export function subjectOf(path: string, to: Pick<Subject, 'target' | 'apiId' | 'format'>): Subject {
  const { size, mtimeMs } = statSync(path);
  return { ...to, size, modifiedAtMs: mtimeMs };
}

/** A small file beside the imported one, while the import is under way. It is written whole, under another name first. */
export class StateFile {
  readonly #path: string;
  readonly #subject: Subject;

  constructor(path: string, subject: Subject) {
    this.#path = path;
    this.#subject = subject;
  }

  /** The mark of an import of the same file to the same place that was cut short; null = there is none. */
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
    const beside = `${this.#path}.new`;
    try {
      writeFileSync(beside, `${JSON.stringify({ subject: this.#subject, mark })}\n`, { mode: 0o600 });
      renameSync(beside, this.#path);
    } catch (error) {
      const code = (error as { code?: string }).code ?? String(error);
      throw failed(
        `How far the import is cannot be written to ${this.#path} (${code}).`,
        'Copy the file to a folder that you may write to, or pipe it in with - in the place of its name.',
      );
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}
