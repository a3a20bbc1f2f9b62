import { FFIType } from 'bun:ffi';

import { openCLibrary } from './openFiles.ts';

/** Exit codes of the process. docs/cli.md lists them. */
export const EXIT = {
  OK: 0,
  /** The command failed: the service refused it, or did not answer. */
  FAILED: 1,
  /** The command line is wrong: an unknown command or flag, or a wrong value. */
  USAGE: 2,
  /** `key verify`: the key is not valid. */
  NOT_VALID: 3,
  /** The disk or the database file failed while the service was running (EX_IOERR). */
  DISK_FAILED: 74,
  /** The service cannot start for now: the database is away, the disk is full, or another process owns the folder (EX_TEMPFAIL). */
  TRY_LATER: 75,
  /**
   * The service cannot start: a setting is wrong, or a port, folder or database cannot be used (EX_CONFIG). Or it stops because the
   * database was migrated to a version that it does not know.
   */
  CANNOT_START: 78,
} as const;

/**
 * Ends the process without any clean-up. `process.exit` closes the database, and closing it makes SQLite flush again. After
 * a failed flush the kernel may have dropped the pages, so a second flush would wrongly report success.
 */
export function exitAtOnce(code: number): never {
  openCLibrary({ _exit: { args: [FFIType.i32], returns: FFIType.void } })?.['_exit'](code);
  process.exit(code);
}

/** The service cannot start. The message tells the operator why. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
  /** It may start later, with nothing changed. */
  readonly isTemporary: boolean;

  constructor(message: string, isTemporary = false) {
    super(message);
    this.isTemporary = isTemporary;
  }
}
