import type { Database } from 'bun:sqlite';

/**
 * Forward migrations: entry N brings version N to N + 1. An entry that was released is never edited; a new one is added,
 * with a fixture of the version before it (test/fixtures/databases).
 */
export const MIGRATIONS: readonly string[] = [
  `
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
  `,
  `
  ALTER TABLE apis ADD COLUMN default_prefix TEXT;
  ALTER TABLE apis ADD COLUMN default_byte_length INTEGER;
  ALTER TABLE apis ADD COLUMN default_limit TEXT;
  ALTER TABLE apis ADD COLUMN delete_protected INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN purges_below INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN updated_at_ms INTEGER;
  ALTER TABLE apis ADD COLUMN deleted_at_ms INTEGER;
  ALTER TABLE apis ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

  ALTER TABLE identities ADD COLUMN credits TEXT;
  ALTER TABLE identities ADD COLUMN credits_account INTEGER;
  ALTER TABLE identities ADD COLUMN limits TEXT;
  ALTER TABLE identities ADD COLUMN updated_at_ms INTEGER;
  ALTER TABLE identities ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX identities_by_credits ON identities (credits_account) WHERE credits_account IS NOT NULL;

  ALTER TABLE keys ADD COLUMN roles TEXT;
  ALTER TABLE keys ADD COLUMN permissions TEXT;
  ALTER TABLE keys ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
  DROP INDEX keys_of_api;
  DROP INDEX keys_of_identity;
  CREATE INDEX keys_of_generation ON keys (api_id, generation, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_owner ON keys (api_id, generation, identity_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_by_start ON keys (api_id, start, id) WHERE deleted_at_ms IS NULL;

  -- Words of names and metadata, for the search.
  CREATE TABLE key_words (
    api_id TEXT NOT NULL, word TEXT NOT NULL, key_id TEXT NOT NULL, PRIMARY KEY (api_id, word, key_id)
  ) STRICT, WITHOUT ROWID;

  -- Secrets that were replaced and are valid for a while.
  CREATE TABLE former_secrets (digest TEXT PRIMARY KEY, owner TEXT NOT NULL, until_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX former_secrets_of_owner ON former_secrets (owner, until_ms);
  CREATE INDEX former_secrets_ended ON former_secrets (until_ms);

  CREATE TABLE permissions (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    slug TEXT NOT NULL UNIQUE,
    description TEXT,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE roles (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    description TEXT,
    permissions TEXT,
    created_at_ms INTEGER NOT NULL,
    revision INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE namespaces (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE overrides (
    id TEXT PRIMARY KEY,
    namespace_id TEXT NOT NULL,
    identifier TEXT NOT NULL,
    max_count INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    async INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER,
    UNIQUE (namespace_id, identifier)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX overrides_of_namespace ON overrides (namespace_id, id);

  -- The audit log: only ever added to, in the transaction of the change.
  CREATE TABLE changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT,
    origin TEXT,
    request_id TEXT
  ) STRICT;
  CREATE INDEX changes_by_actor ON changes (actor, number);
  CREATE INDEX changes_by_action ON changes (action, number);
  CREATE INDEX changes_by_target ON changes (target, number);
  CREATE INDEX changes_by_time ON changes (at_ms);

  -- Verifications by span (0 minute, 1 hour, 2 day); '' stands for no key, no identity, no tags.
  CREATE TABLE key_tallies (
    span INTEGER NOT NULL, time_ms INTEGER NOT NULL, api_id TEXT NOT NULL, key_id TEXT NOT NULL, identity_id TEXT NOT NULL, tags TEXT NOT NULL,
    valid INTEGER NOT NULL, not_found INTEGER NOT NULL, forbidden INTEGER NOT NULL, disabled INTEGER NOT NULL, expired INTEGER NOT NULL,
    insufficient_permissions INTEGER NOT NULL, rate_limited INTEGER NOT NULL, usage_exceeded INTEGER NOT NULL,
    PRIMARY KEY (key_id, span, time_ms, api_id, identity_id, tags)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_tallies_of_api ON key_tallies (api_id, span, time_ms);
  CREATE INDEX key_tallies_by_time ON key_tallies (span, time_ms);
  CREATE TABLE api_tallies (
    span INTEGER NOT NULL, time_ms INTEGER NOT NULL, api_id TEXT NOT NULL, tags TEXT NOT NULL,
    valid INTEGER NOT NULL, not_found INTEGER NOT NULL, forbidden INTEGER NOT NULL, disabled INTEGER NOT NULL, expired INTEGER NOT NULL,
    insufficient_permissions INTEGER NOT NULL, rate_limited INTEGER NOT NULL, usage_exceeded INTEGER NOT NULL,
    PRIMARY KEY (api_id, span, time_ms, tags)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX api_tallies_by_time ON api_tallies (span, time_ms);
  CREATE TABLE key_uses (key_id TEXT PRIMARY KEY, last_used_at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE imports (
    id TEXT PRIMARY KEY, api_id TEXT NOT NULL, queued INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE import_batches (
    id TEXT PRIMARY KEY,
    migration_id TEXT NOT NULL,
    api_id TEXT NOT NULL,
    first_place INTEGER NOT NULL,
    size INTEGER NOT NULL,
    keys TEXT NOT NULL,
    actor TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE import_errors (
    migration_id TEXT NOT NULL, place INTEGER NOT NULL, message TEXT NOT NULL, PRIMARY KEY (migration_id, place)
  ) STRICT, WITHOUT ROWID;
  `,
];

export const SCHEMA_VERSION = MIGRATIONS.length;

export function readSchemaVersion(db: Database): number {
  return (db.query('PRAGMA user_version').get() as { user_version: number }).user_version;
}

/** Brings an opened database to the newest version, each step in a transaction of its own. */
export function migrate(db: Database): void {
  for (let version = readSchemaVersion(db); version < SCHEMA_VERSION; version++) {
    db.transaction(() => {
      db.run(MIGRATIONS[version] ?? '');
      db.run(`PRAGMA user_version = ${version + 1}`);
    }).immediate();
  }
}
