import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { FolderError, writeDurably } from './folder.ts';

const FILE = 'commit-number';
const WRITE_EVERY_MS = 1000;

/**
 * The number of the last commit, kept beside the database and at most a second behind it. A database that comes back
 * with a lower one has lost commits (an older copy, a deleted WAL): spent credits would be spent again, revoked keys
 * would work again. It is not served until an operator says that this is what they want.
 */
export class CommitNumberFile {
  readonly #path: string;
  readonly #number: () => number;
  #written: number;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(folder: string, number: () => number) {
    this.#path = join(folder, FILE);
    this.#number = number;
    this.#written = number();
    this.write();
  }

  /** Called after commits: writes within a second, once. */
  note(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.write();
    }, WRITE_EVERY_MS);
  }

  write(): void {
    this.#written = this.#number();
    try {
      writeDurably(this.#path, String(this.#written));
    } catch {
      // A full disk: the number on it is older, which detects less and accuses nobody.
    }
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#written !== this.#number()) this.write();
  }
}

export function refuseLostCommits(folder: string, number: number): void {
  const path = join(folder, FILE);
  if (!existsSync(path)) return;
  const noted = Number(readFileSync(path, 'utf8'));
  if (!Number.isSafeInteger(noted) || number >= noted) return;
  throw new FolderError(
    `The database in ${folder} has lost commits: it is at number ${number}, and number ${noted} was answered. ` +
      'It may be an older copy, or its -wal file was removed: spent credits could be spent again. ' +
      'Put the newer files back, or accept the loss once with KEYSTILE_ACCEPT_LOST_COMMITS=true.',
  );
}
