/** Keys of one call that wait for their import. */
export interface ImportBatch {
  readonly id: string;
  readonly migrationId: string;
  readonly apiId: string;
  /** Index of the first key among all keys of the migration. */
  readonly first: number;
  readonly count: number;
  /** JSON of the keys, with digests instead of secrets. */
  readonly keys: string;
  /** JSON of the actor that enqueued the keys. */
  readonly actor: string;
}

export interface FinishedBatch {
  readonly id: string;
  readonly migrationId: string;
  readonly done: number;
  readonly errors: readonly { readonly index: number; readonly message: string }[];
}

export interface ImportProgress {
  readonly migrationId: string;
  readonly apiId: string;
  readonly queued: number;
  readonly done: number;
  readonly failed: number;
  readonly errors: readonly { readonly index: number; readonly message: string }[];
}

/** The import queue. An enqueued key is still there after a restart. */
export interface Imports {
  findProgress(migrationId: string): Promise<ImportProgress | null>;
  /** The oldest waiting batches. */
  listWaiting(limit: number): Promise<readonly ImportBatch[]>;
}
