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
  /** The service cannot start: a setting is wrong, or a port, folder or database cannot be used (EX_CONFIG). Or the database was migrated past it. */
  CANNOT_START: 78,
} as const;
