/** What has changed: what was kept of it must go. */
export interface RecordChange {
  /** Keys, by the digests of their secrets; null = anything may have changed. */
  readonly keys: readonly string[] | null;
  readonly apis: readonly string[];
  readonly identities: readonly string[];
  readonly namespaces: readonly string[];
  /** Roles or permissions stand for something else. */
  readonly rbac: boolean;
  readonly rootKeys: boolean;
}

/** What other nodes change on the same database. */
export interface Freshness {
  /** False when a change may be unknown here for longer than allowed: nothing that is kept in memory may be used. */
  isFresh(): boolean;
  /** Asks now, shared by all who wait. When it is done, the node is fresh. Rejects when that is not so in time. */
  confirm(): Promise<void>;
  onChange(listener: (change: RecordChange) => void): void;
}

/** The freshness of a process that makes all changes itself. */
export const ALONE: Freshness = { isFresh: () => true, confirm: () => Promise.resolve(), onChange() {} };
