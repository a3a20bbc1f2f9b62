/** What the process ends with; docs/cli.md lists them. */
export const EXIT = {
  OK: 0,
  /** The command failed: the service said no, or could not be reached. */
  FAILED: 1,
  /** The command line was not understood. */
  USAGE: 2,
  /** `key verify`: the key is not valid. */
  NOT_VALID: 3,
  /** The disk or the database file has failed while serving (EX_IOERR). */
  DISK_FAILED: 74,
  /** Something to start with is missing, taken or contradictory (EX_CONFIG). */
  CANNOT_START: 78,
} as const;
