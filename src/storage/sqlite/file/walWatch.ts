import { LONG_WAL_BYTES } from '../../../core/health.ts';
import type { TaskLog } from '../../port/tasks.ts';

const MIB = 2 ** 20;

/** Warns when the write-ahead log of the database becomes long, and says when it is short again. */
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
      ? 'a write-ahead log (keystile.db-wal or analytics.db-wal) keeps growing: another program, such as a backup or a shell, has been reading the database for a long time; end it before the disk is full'
      : 'the write-ahead log of the database was reset';
    this.#log.warn(what, { mebibytes: Math.round(bytes / MIB) });
  }
}
