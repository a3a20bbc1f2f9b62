import { FolderError } from '../file/dataFolder.ts';
import { notePath, noteText, readNote } from '../file/folderNote.ts';
import type { SqliteThread } from '../thread/threadClient.ts';

const WRITE_EVERY_MS = 1000;

export interface CommitNumberOptions {
  readonly folder: string;
  readonly folderId: string;
  /** Number of the last durable commit. */
  readonly number: () => number;
  readonly writer: Pick<SqliteThread, 'call' | 'isBroken'>;
  /** Called when writing begins to fail. It is tried again every second. */
  readonly failed: (reason: string) => void;
}

/**
 * Writes the number of the last commit beside the database, at most a second behind it. A database that comes back with a lower
 * number has lost commits (an older copy, a deleted WAL): spent credits could be spent again, revoked keys would work again. It is
 * not served until an operator accepts the loss.
 */
export class CommitNumberFile {
  readonly #options: CommitNumberOptions;
  #written = -1;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isClosed = false;
  #hasFailed = false;

  constructor(options: CommitNumberOptions) {
    this.#options = options;
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
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#write();
  }

  /** In the writer thread, behind the commits: it flushes as they do. */
  async #write(): Promise<void> {
    const { folder, folderId, writer } = this.#options;
    const number = this.#options.number();
    if (number === this.#written) return;
    try {
      await writer.call('noteCommit', notePath(folder), noteText({ number, id: folderId }));
      this.#written = number;
      this.#hasFailed = false;
    } catch (error) {
      // A full disk or too many open files: an older number on disk detects less, and refuses nothing wrongly.
      if (this.#isClosed || writer.isBroken) return;
      if (!this.#hasFailed) this.#options.failed(error instanceof Error ? error.message : String(error));
      this.#hasFailed = true;
      this.note();
    }
  }
}

/** Why a start refuses a folder without a database; null = it begins a new installation there. */
export function missingRefusal(folder: string): string | null {
  const noted = readNote(folder)?.number ?? 0;
  if (noted === 0) return null;
  return (
    `The data folder ${folder} has no keystile.db, but commit number ${noted} was already confirmed to a client. ` +
    'Put the file back (is its disk mounted?), restore a backup, or lose everything and begin a new installation once with KEYSTILE_ACCEPT_LOST_COMMITS=true.'
  );
}

export function refuseLostCommits(folder: string, number: number): void {
  const noted = readNote(folder)?.number ?? 0;
  if (number >= noted) return;
  throw new FolderError(
    `The database in ${folder} has lost commits: its last commit is number ${number}, but commit number ${noted} was already confirmed to a client. ` +
      'It is an older copy, or its -wal file was removed. Credits that were spent could be spent again. ' +
      'Put the newer files back, or accept the loss once with KEYSTILE_ACCEPT_LOST_COMMITS=true.',
  );
}
