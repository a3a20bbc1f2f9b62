import type { TaskLog } from '../../port/tasks.ts';

const MIB = 2 ** 20;
/** SQLite starts its log anew at 4 MiB; it cannot while someone reads what was there before. */
export const LONG_WAL_BYTES = 256 * MIB;

/** Tells when the log of the embedded database (`-wal`) becomes long, and when it is short again. */
export class WalWatch {
  readonly #bytes: () => number;
  readonly #log: Pick<TaskLog, 'warn'>;
  #isLong = false;

  constructor(bytes: () => number, log: Pick<TaskLog, 'warn'>) {
    this.#bytes = bytes;
    this.#log = log;
  }

  look(): void {
    const bytes = this.#bytes();
    const isLong = bytes > LONG_WAL_BYTES;
    if (isLong === this.#isLong) return;
    this.#isLong = isLong;
    const what = isLong
      ? 'the log of a database (keystile.db-wal, analytics.db-wal) grows and cannot be started anew: another program (a backup, a shell) reads for long; end it before the disk is full'
      : 'the log of the database was started anew';
    this.#log.warn(what, { mebibytes: Math.round(bytes / MIB) });
  }
}
