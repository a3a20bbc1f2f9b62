export interface LedgerOptions {
  readonly nowMs: () => number;
  /** Spends and changes that may wait. One more is refused at once. */
  readonly maxWaiting: number;
  readonly idempotencyRetentionMs: number;
  /** Removes the local counts of windows that ended until then. */
  readonly pruneLocalCounts: (endedAtMs: number) => Promise<void>;
  readonly observe: LedgerObserver;
}

/** Reports to the metrics and the log. */
export interface LedgerObserver {
  committed(batchSize: number, milliseconds: number): void;
  applyFailed(reason: string): void;
  /** The number of the last commit could not be written beside the database. It is tried again. */
  noteFailed(reason: string): void;
  /** A batch was not done; the next one may be. */
  refused(reason: string): void;
}
