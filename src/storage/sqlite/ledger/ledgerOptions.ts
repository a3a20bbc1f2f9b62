export interface LedgerOptions {
  readonly nowMs: () => number;
  /** How many spends and changes may wait. Further ones are refused at once. */
  readonly maxWaiting: number;
  readonly idempotencyRetentionMs: number;
  /** Removes the local counts of windows that have ended by then. */
  readonly pruneLocalCounts: (endedAtMs: number) => Promise<void>;
  readonly observe: LedgerObserver;
}

/** Reports to the metrics and the log. */
export interface LedgerObserver {
  committed(batchSize: number, milliseconds: number): void;
  applyFailed(reason: string): void;
  /** The number of the last commit could not be written beside the database. It will be retried. */
  noteFailed(reason: string): void;
  /** A batch was not done; the next one may succeed. */
  refused(reason: string): void;
}
