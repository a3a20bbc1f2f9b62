import { FolderError } from './dataFolder.ts';
import { notePath, noteText, readNote } from './folderNote.ts';
import type { SqliteThread } from '../thread/threadClient.ts';

const WRITE_EVERY_MS = 1000;

export interface CommitNumberOptions {
  readonly folder: string;
  readonly folderId: string;
  /** Number of the last durable commit. */
  readonly number: () => number;
  readonly writer: Pick<SqliteThread, 'call' | 'isBroken'>;
  /** Told when writing begins to fail; it is tried again every second. */
  readonly failed: (reason: string) => void;
}

/**
 * The number of the last commit, kept beside the database and at most a second behind it. A database that comes back
 * with a lower one has lost commits (an older copy, a deleted WAL): spent credits would be spent again, revoked keys
 * would work again. It is not served until an operator says that this is what they want.
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

  /** In the writer thread, behind the commits: it is a flush like theirs. */
  async #write(): Promise<void> {
    const { folder, folderId, writer } = this.#options;
    const number = this.#options.number();
    if (number === this.#written) return;
    try {
      await writer.call('noteCommit', notePath(folder), noteText({ number, id: folderId }));
      this.#written = number;
      this.#hasFailed = false;
    } catch (error) {
      // A full disk or too many open files: the number on disk is older, which detects less and accuses nobody.
      if (this.#isClosed || writer.isBroken) return;
      if (!this.#hasFailed) this.#options.failed(error instanceof Error ? error.message : String(error));
      this.#hasFailed = true;
      this.note();
    }
  }
}

export function refuseLostCommits(folder: string, number: number): void {
  const noted = readNote(folder)?.number ?? 0;
  if (number >= noted) return;
  throw new FolderError(
    `The database in ${folder} has lost commits: it is at number ${number}, and number ${noted} was answered. ` +
      'It may be an older copy, or its -wal file was removed: spent credits could be spent again. ' +
      'Put the newer files back, or accept the loss once with KEYSTILE_ACCEPT_LOST_COMMITS=true.',
  );
}
