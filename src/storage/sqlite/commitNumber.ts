import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { FolderError } from './folder.ts';
import type { SqliteThread } from './threadClient.ts';

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
  readonly #writer: SqliteThread;
  #written: number;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(folder: string, number: () => number, writer: SqliteThread) {
    this.#path = join(folder, FILE);
    this.#number = number;
    this.#writer = writer;
    this.#written = -1;
    void this.#write();
  }

  /** Called after commits: writes within a second, once. */
  note(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      void this.#write();
    }, WRITE_EVERY_MS);
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#write();
  }

  /** In the writer thread, behind the commits: it is a flush like theirs. */
  async #write(): Promise<void> {
    const number = this.#number();
    if (number === this.#written) return;
    try {
      await this.#writer.call('noteCommit', this.#path, number);
      this.#written = number;
    } catch {
      // A full disk: the number on it is older, which detects less and accuses nobody. A failed one ends the process.
    }
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
