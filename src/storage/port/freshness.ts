/** Records that have changed. A node drops what it has cached of them. */
export interface RecordChange {
  /** Keys, by the digests of their secrets; null = any record may have changed. */
  readonly keys: readonly string[] | null;
  readonly apis: readonly string[];
  readonly identities: readonly string[];
  readonly plans: readonly string[];
  readonly namespaces: readonly string[];
  /** A role or permission has changed. */
  readonly rbac: boolean;
  readonly rootKeys: boolean;
}

/** Says whether the cache may still be used, and which records other nodes change. */
export interface Freshness {
  /** False when this node may have missed a change for longer than allowed. Then nothing cached may be used. */
  mayUseCache(): boolean;
  /** Asks the database, once for all waiting callers. Then the node is fresh. Rejects if that takes too long. */
  confirm(): Promise<void>;
  onChange(listener: (change: RecordChange) => void): void;
}

/** For a process that makes all changes itself: its cache is always fresh. */
export const ALWAYS_FRESH: Freshness = { mayUseCache: () => true, confirm: () => Promise.resolve(), onChange() {} };
