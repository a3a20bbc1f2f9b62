export const SCHEMA_V1 = `
  CREATE TABLE installation (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE apis (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE identities (
    id TEXT PRIMARY KEY,
    external_id TEXT NOT NULL UNIQUE,
    meta TEXT,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    api_id TEXT NOT NULL,
    identity_id TEXT,
    secret_digest TEXT NOT NULL UNIQUE,
    start TEXT NOT NULL,
    name TEXT,
    meta TEXT,
    environment TEXT,
    enabled INTEGER NOT NULL,
    expires_at_ms INTEGER,
    credits TEXT,
    credits_account INTEGER,
    limits TEXT,
    ip_allowlist TEXT,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER,
    deleted_at_ms INTEGER,
    revision INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX keys_of_api ON keys (api_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_identity ON keys (api_id, identity_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_by_credits ON keys (credits_account) WHERE credits_account IS NOT NULL;

  CREATE TABLE root_keys (
    id TEXT PRIMARY KEY,
    secret_digest TEXT NOT NULL UNIQUE,
    start TEXT NOT NULL,
    name TEXT,
    rights TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    revoked_at_ms INTEGER
  ) STRICT, WITHOUT ROWID;

  -- The exact counters, folded behind the log. The guards of core/spend are backed by these constraints.
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
    value INTEGER NOT NULL CHECK (value BETWEEN 0 AND 9007199254740991),
    mark INTEGER NOT NULL CHECK (mark >= 0),
    due_at_ms INTEGER NOT NULL,
    revision INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX accounts_due ON accounts (due_at_ms, id) WHERE due_at_ms > 0;

  -- One row a commit: the accounts it changed, as they were after it. Replayed at start, removed when folded.
  CREATE TABLE ledger_log (number INTEGER PRIMARY KEY, entries TEXT NOT NULL) STRICT;

  CREATE TABLE adhoc_windows (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    account INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (owner, name, duration_ms)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE edge_counts (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    count INTEGER NOT NULL,
    reset_at_ms INTEGER NOT NULL,
    PRIMARY KEY (owner, name, duration_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX edge_counts_ended ON edge_counts (reset_at_ms);

  -- Two partitions by time: the older one is emptied as a whole, which costs no search and leaves no holes.
  CREATE TABLE replays_0 (
    scope TEXT NOT NULL, id TEXT NOT NULL, request_digest TEXT NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (scope, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE replays_1 (
    scope TEXT NOT NULL, id TEXT NOT NULL, request_digest TEXT NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (scope, id)
  ) STRICT, WITHOUT ROWID;
  `;
