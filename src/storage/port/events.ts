/** What was done, for the audit log. Secrets and their digests never stand in it. */
export interface AuditEvent {
  /** Id of the root key, or who else it was: `cli`, `system`. */
  readonly actor: string;
  /** `key.create`, `api.update`, ... */
  readonly action: string;
  /** Id of what was changed. */
  readonly target: string;
  /** JSON of an object, null = there was nothing, there is nothing left. */
  readonly before: string | null;
  readonly after: string | null;
  /** Place of a counter among the accounts of the change: its balance before and after is told as `remaining`. */
  readonly counter?: number;
  /** The address of the caller. */
  readonly origin: string | null;
  readonly requestId: string | null;
}

export interface StoredEvent extends AuditEvent {
  readonly number: number;
  readonly atMs: number;
}

export interface EventQuery {
  readonly limit: number;
  /** Number of the last event of the page before. */
  readonly before: number | null;
  readonly actor: string | null;
  readonly action: string | null;
  readonly target: string | null;
  readonly fromMs: number | null;
  readonly untilMs: number | null;
}
