import { PERMISSIONS, ROLES, ROOT_KEYS } from '../../../model/access.ts';
import { APIS } from '../../../model/apis.ts';
import { IDENTITIES } from '../../../model/identities.ts';
import { KEYS } from '../../../model/keys.ts';
import { NAMESPACES, OVERRIDES } from '../../../model/overrides.ts';
import { PLANS } from '../../../model/plans.ts';
import { columnsText, type Dialect } from '../../../model/stored.ts';
import { CREDIT_TABLES } from './creditTables.ts';
import { EVENT_TABLES } from './eventTables.ts';

export const DIALECT: Dialect = { engine: 'sqlite', types: { text: 'TEXT', number: 'INTEGER', small: 'INTEGER' } };

/** Everything but analytics and local counts, which analytics.db holds (analyticsFile.ts). */
export const SCHEMA = `
  CREATE TABLE installation (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE apis (
${columnsText(APIS, DIALECT)}
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE identities (
${columnsText(IDENTITIES, DIALECT)}
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX identities_alerting ON identities (id) WHERE expires_within_ms IS NOT NULL;
  CREATE INDEX identities_by_credits ON identities (credits_account) WHERE credits_account IS NOT NULL;
  CREATE INDEX identities_of_plan ON identities (plan_id, id) WHERE plan_id IS NOT NULL;
  CREATE INDEX identities_of_next_plan ON identities (next_plan_id, id) WHERE next_plan_id IS NOT NULL;

  CREATE TABLE plans (
${columnsText(PLANS, DIALECT)}
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE keys (
${columnsText(KEYS, DIALECT)}
  ) STRICT;
  CREATE INDEX keys_of_generation ON keys (api_id, generation, id, enabled, expires_at_ms) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_owner ON keys (api_id, generation, identity_id, id, enabled, expires_at_ms) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_identity ON keys (identity_id, id) WHERE deleted_at_ms IS NULL AND identity_id IS NOT NULL;
  CREATE INDEX keys_expiring ON keys ((expires_at_ms - expires_within_ms)) WHERE expires_within_ms IS NOT NULL AND told_expiry_ms IS NULL;
  CREATE INDEX keys_by_start ON keys (api_id, start, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_plan ON keys (plan_id, api_id, generation, id, enabled, expires_at_ms) WHERE plan_id IS NOT NULL AND deleted_at_ms IS NULL;
  CREATE INDEX keys_of_next_plan ON keys (next_plan_id, id) WHERE next_plan_id IS NOT NULL AND deleted_at_ms IS NULL;
  CREATE INDEX keys_by_credits ON keys (credits_account) WHERE credits_account IS NOT NULL;

  -- Words that find a record. The scope of a key is its api, that of an identity the word "identities".
  CREATE TABLE search_words (
    scope TEXT NOT NULL, word TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (scope, word, id)
  ) STRICT, WITHOUT ROWID;

  -- Secrets that a rotation replaced, valid until their overlap ends.
  CREATE TABLE former_secrets (digest TEXT PRIMARY KEY, owner TEXT NOT NULL, until_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX former_secrets_of_owner ON former_secrets (owner, until_ms);
  CREATE INDEX former_secrets_ended ON former_secrets (until_ms);

  CREATE TABLE root_keys (
${columnsText(ROOT_KEYS, DIALECT)}
  ) STRICT, WITHOUT ROWID;

  -- Browsers that are signed in to the dashboard.
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    root_key_id TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    used_at_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    origin TEXT,
    browser TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_of_root_key ON sessions (root_key_id);
  CREATE INDEX sessions_ended ON sessions (until_ms);

  CREATE TABLE portal_sessions (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    root_key_id TEXT NOT NULL,
    identity_id TEXT NOT NULL,
    api_id TEXT NOT NULL,
    allowed TEXT NOT NULL,
    key_defaults TEXT,
    return_url TEXT,
    created_at_ms INTEGER NOT NULL,
    opened_at_ms INTEGER,
    until_ms INTEGER NOT NULL,
    changes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX portal_sessions_of_identity ON portal_sessions (identity_id);
  CREATE INDEX portal_sessions_ended ON portal_sessions (until_ms);

  CREATE TABLE permissions (
${columnsText(PERMISSIONS, DIALECT)}
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE roles (
${columnsText(ROLES, DIALECT)}
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE namespaces (
${columnsText(NAMESPACES, DIALECT)}
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE overrides (
${columnsText(OVERRIDES, DIALECT)},
    UNIQUE (namespace_id, identifier)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX overrides_of_namespace ON overrides (namespace_id, id);

  -- The exact counters. The log is applied to this table behind the commits. These constraints back the guards of core/spend.ts.
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
    value INTEGER NOT NULL CHECK (value BETWEEN 0 AND 9007199254740991),
    mark INTEGER NOT NULL CHECK (mark >= 0),
    due_at_ms INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    base INTEGER NOT NULL,
    segment_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX accounts_due ON accounts (due_at_ms, id) WHERE due_at_ms > 0;

  -- One row a commit: the accounts it changed, as they were after it (logBytes.ts). Read at the start, removed when applied.
  CREATE TABLE ledger_log (number INTEGER PRIMARY KEY, entries BLOB NOT NULL) STRICT;

  CREATE TABLE adhoc_windows (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    account INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (owner, name, duration_ms)
  ) STRICT, WITHOUT ROWID;

  -- Answers under idempotency keys, in two partitions by time. Emptying a whole partition needs no search and leaves no holes.
  CREATE TABLE idempotency_0 (
    scope TEXT NOT NULL, id TEXT NOT NULL, request_digest TEXT NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (scope, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE idempotency_1 (
    scope TEXT NOT NULL, id TEXT NOT NULL, request_digest TEXT NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (scope, id)
  ) STRICT, WITHOUT ROWID;

  -- The audit log. Rows are only added, in the transaction of the change.
  CREATE TABLE audit_entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT,
    origin TEXT,
    request_id TEXT,
    via TEXT
  ) STRICT;
  CREATE INDEX audit_entries_by_actor ON audit_entries (actor, number);
  CREATE INDEX audit_entries_by_action ON audit_entries (action, number);
  CREATE INDEX audit_entries_by_target ON audit_entries (target, number);
  CREATE INDEX audit_entries_by_time ON audit_entries (at_ms);

${CREDIT_TABLES}${EVENT_TABLES}
  CREATE TABLE imports (
    id TEXT PRIMARY KEY, api_id TEXT NOT NULL, queued INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE import_batches (
    id TEXT PRIMARY KEY,
    import_id TEXT NOT NULL,
    api_id TEXT NOT NULL,
    first_index INTEGER NOT NULL,
    size INTEGER NOT NULL,
    keys TEXT NOT NULL,
    actor TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE import_errors (
    import_id TEXT NOT NULL, key_index INTEGER NOT NULL, message TEXT NOT NULL, PRIMARY KEY (import_id, key_index)
  ) STRICT, WITHOUT ROWID;
  `;
