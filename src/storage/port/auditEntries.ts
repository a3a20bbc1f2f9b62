/** An entry of the audit log. It never contains a secret or a digest. */
export interface AuditEntry {
  /** Id of the root key, or `cli` or `system`. */
  readonly actor: string;
  /** `key.create`, `api.update`, ... */
  readonly action: string;
  /** Id of the changed record. */
  readonly target: string;
  /** JSON of an object. `before` is null for a new record, `after` is null for a removed one. */
  readonly before: string | null;
  readonly after: string | null;
  /** Index of an account of the change. The ledger adds its balance before and after as `remaining`. */
  readonly counter?: number;
  /** Ids of records that the target belongs to. The log does not keep them; the event of the change names them. */
  readonly ids?: Readonly<Record<string, string>>;
  /** The address of the caller. */
  readonly origin: string | null;
  readonly requestId: string | null;
  /** Where the actor made the change; null = by the API, the command line or the service itself. */
  readonly via: 'dashboard' | 'portal' | null;
}

export interface StoredEntry extends AuditEntry {
  readonly number: number;
  readonly atMs: number;
}

export interface AuditEntries {
  /** Removes some of the entries that were written up to `untilMs`, oldest first. True: none of them is left. */
  prune(untilMs: number): Promise<boolean>;
}

export interface EntryQuery {
  readonly limit: number;
  /** Number of the last entry of the previous page. */
  readonly before: number | null;
  readonly actor: string | null;
  readonly action: string | null;
  readonly target: string | null;
  readonly fromMs: number | null;
  readonly untilMs: number | null;
}
