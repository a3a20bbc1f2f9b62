/** From when on something is wrong with a running service. The warnings in the log and the status use the same numbers. */

/** SQLite restarts its log at 4 MiB, unless another connection still reads the old part. */
export const LONG_WAL_BYTES = 256 * 2 ** 20;

/** A transaction that is open for this long keeps PostgreSQL from cleaning up behind busy rows. */
export const OLD_TRANSACTION_MS = 300_000;

/** A node that was not seen for this long is gone. */
export const GONE_AFTER_MS = 10_000;

/** A certificate that expires within this time should be renewed. */
export const CERTIFICATE_DUE_MS = 14 * 86_400_000;
