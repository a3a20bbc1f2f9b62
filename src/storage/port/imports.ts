/** Keys of one call that wait to be imported, as the wire brought them. */
export interface ImportBatch {
  readonly id: string;
  readonly migrationId: string;
  readonly apiId: string;
  /** Place of the first key among all of the migration. */
  readonly first: number;
  readonly count: number;
  /** JSON. */
  readonly keys: string;
  /** JSON of who asked for it. */
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

/** Imports that were promised: what was enqueued is there after a restart. */
export interface Imports {
  findProgress(migrationId: string): Promise<ImportProgress | null>;
  /** The oldest that wait. */
  listWaiting(limit: number): Promise<readonly ImportBatch[]>;
}
