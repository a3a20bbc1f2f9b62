import { PERMISSIONS, ROLES, ROOT_KEYS } from '../../../model/access.ts';
import { APIS } from '../../../model/apis.ts';
import { IDENTITIES } from '../../../model/identities.ts';
import { KEYS } from '../../../model/keys.ts';
import { NAMESPACES, OVERRIDES } from '../../../model/overrides.ts';
import { PLANS } from '../../../model/plans.ts';
import { columnsText, type Dialect } from '../../../model/columns.ts';

/** What accounts of credits have besides their rows: statements, grants that expire, and reservations. */
const CREDIT_TABLES = `
  -- The statement: what happened to the credits of an account, in lines that lie within one UTC day and one refill period. The running
  -- line has a row only after something other than a spend happened.
  CREATE TABLE statement_lines (
    account INTEGER NOT NULL,
    start_ms INTEGER NOT NULL,
    period_ms INTEGER NOT NULL,
    opening INTEGER NOT NULL,
    granted INTEGER NOT NULL,
    refilled INTEGER NOT NULL,
    adjusted INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    closing INTEGER NOT NULL,
    held INTEGER NOT NULL,
    -- An event has told of the refill.
    told INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, start_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX statement_lines_by_time ON statement_lines (start_ms);
  CREATE INDEX statement_lines_untold ON statement_lines (start_ms, account) WHERE refilled > 0 AND told = 0;
  -- Who had the credits of an account that was closed.
  CREATE TABLE closed_accounts (account INTEGER PRIMARY KEY, owner TEXT NOT NULL, metered INTEGER NOT NULL) STRICT;
  CREATE INDEX closed_accounts_of_owner ON closed_accounts (owner, account);

  -- What events have told of the balances of accounts. Rows go as soon as the balance rises to "below" again.
  CREATE TABLE told_credits (
    account INTEGER NOT NULL, type TEXT NOT NULL, below INTEGER NOT NULL, PRIMARY KEY (account, type, below)
  ) STRICT, WITHOUT ROWID;
  -- The end of the last window of a limit that an event has told of.
  CREATE TABLE told_limits (
    owner TEXT NOT NULL, name TEXT NOT NULL, duration_ms INTEGER NOT NULL, reset_at_ms INTEGER NOT NULL,
    PRIMARY KEY (owner, name, duration_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX told_limits_ended ON told_limits (reset_at_ms);

  -- For accounts with grants that expire, or with reservations (core/expiringCredits.ts).
  CREATE TABLE pockets (account INTEGER PRIMARY KEY, held INTEGER NOT NULL, state TEXT NOT NULL) STRICT;

  CREATE TABLE reservations (
    id TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    api_id TEXT NOT NULL,
    identity_id TEXT,
    cost INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    on_expiry TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    parts TEXT NOT NULL,
    state TEXT NOT NULL,
    ended_at_ms INTEGER,
    charged INTEGER NOT NULL,
    returned INTEGER NOT NULL,
    remaining INTEGER,
    settled_cost INTEGER,
    idempotency_id TEXT,
    request_digest TEXT,
    answer TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX reservations_of_key ON reservations (key_id, id);
  CREATE INDEX reservations_held_of_key ON reservations (key_id, expires_at_ms) WHERE state = 'held';
  CREATE INDEX reservations_held_of_identity ON reservations (identity_id, expires_at_ms) WHERE state = 'held';
  CREATE INDEX reservations_due ON reservations (expires_at_ms) WHERE state = 'held';
  CREATE INDEX reservations_ended ON reservations (ended_at_ms) WHERE state <> 'held';
  CREATE UNIQUE INDEX reservations_by_idempotency ON reservations (key_id, idempotency_id) WHERE idempotency_id IS NOT NULL;

  -- Calls that granted or adjusted credits. A repeated call finds the first one by its idempotency key.
  CREATE TABLE credit_calls (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    amount INTEGER NOT NULL,
    expires_at_ms INTEGER,
    reason TEXT NOT NULL,
    idempotency_id TEXT,
    at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX credit_calls_by_idempotency ON credit_calls (owner, idempotency_id) WHERE idempotency_id IS NOT NULL;
  CREATE INDEX credit_calls_by_time ON credit_calls (at_ms);
`;

/** Events, the webhooks that get them, and their deliveries. */
const EVENT_TABLES = `
  -- In the order of commits. A number is never given twice.
  CREATE TABLE events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_by_type ON events (type, sequence);
  CREATE INDEX events_by_time ON events (at_ms);
  CREATE UNIQUE INDEX events_by_id ON events (id);

  CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    types TEXT,
    enabled INTEGER NOT NULL,
    paused_at_ms INTEGER,
    paused_because TEXT,
    -- Encrypted (KEYSTILE_ENCRYPTION_KEY).
    secret TEXT NOT NULL,
    former_secret TEXT,
    former_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER,
    revision INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  -- The last event that each webhook was asked about. Nothing before it is missing from its deliveries.
  CREATE TABLE webhook_queues (webhook_id TEXT PRIMARY KEY, queued_to INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  -- What each webhook gets: 0 = waits, 1 = delivered, 2 = given up. Whoever holds the lease sends until due_at_ms; then it is due again.
  CREATE TABLE deliveries (
    webhook_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    type TEXT NOT NULL,
    state INTEGER NOT NULL,
    due_at_ms INTEGER NOT NULL,
    lease TEXT,
    attempts INTEGER NOT NULL,
    queued_at_ms INTEGER NOT NULL,
    -- The first of the tries that failed in a row.
    failing_since_ms INTEGER,
    last_at_ms INTEGER,
    last_status INTEGER,
    last_error TEXT,
    PRIMARY KEY (webhook_id, sequence)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at_ms) WHERE state = 0;
  CREATE INDEX deliveries_waiting ON deliveries (sequence) WHERE state = 0;
  `;

export const DIALECT: Dialect = { engine: 'sqlite', types: { text: 'TEXT', number: 'INTEGER', small: 'INTEGER' } };

/** Everything but analytics and local counts, which analytics.db holds (sqlite/analytics.ts). */
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

  -- One row for each commit: the new state of the accounts it changed (loggedBytes.ts). Read at the start, removed when applied.
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
