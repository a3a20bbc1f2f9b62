/** The full management API. */
export const SCHEMA_V2 = `
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

  ALTER TABLE keys ADD COLUMN guard_account INTEGER;
  ALTER TABLE keys ADD COLUMN byte_length INTEGER;
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
  CREATE TABLE events (
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
  CREATE INDEX events_by_actor ON events (actor, number);
  CREATE INDEX events_by_action ON events (action, number);
  CREATE INDEX events_by_target ON events (target, number);
  CREATE INDEX events_by_time ON events (at_ms);

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
  `;
