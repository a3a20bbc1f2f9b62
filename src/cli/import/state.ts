import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { failed } from '../cliError.ts';

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
export interface Subject {
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
