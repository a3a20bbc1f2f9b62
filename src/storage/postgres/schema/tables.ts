import { PERMISSIONS, ROLES, ROOT_KEYS } from '../../../model/access.ts';
import { APIS } from '../../../model/apis.ts';
import { IDENTITIES } from '../../../model/identities.ts';
import { KEYS } from '../../../model/keys.ts';
import { NAMESPACES, OVERRIDES } from '../../../model/overrides.ts';
import { PLANS } from '../../../model/plans.ts';
import { columnsText, type Dialect } from '../../../model/columns.ts';

/** Text is compared byte by byte, as SQLite does it, so that ids have the same order everywhere. */
export const TEXT = 'text COLLATE "C"';

export const DIALECT: Dialect = { engine: 'postgres', types: { text: TEXT, number: 'bigint', small: 'integer' } };

/** What management reads and writes: apis, identities, plans, keys, root keys, roles, permissions, namespaces, imports, the audit log. */
export const RECORD_TABLES = `
  CREATE TABLE apis (
${columnsText(APIS, DIALECT)}
  );

  CREATE TABLE identities (
${columnsText(IDENTITIES, DIALECT)}
  );
  CREATE INDEX identities_alerting ON identities (id) WHERE expires_within_ms IS NOT NULL;
  CREATE INDEX identities_by_credits ON identities (credits_account) WHERE credits_account IS NOT NULL;
  CREATE INDEX identities_of_plan ON identities (plan_id, id) WHERE plan_id IS NOT NULL;
  CREATE INDEX identities_of_next_plan ON identities (next_plan_id, id) WHERE next_plan_id IS NOT NULL;

  CREATE TABLE plans (
${columnsText(PLANS, DIALECT)}
  );

  CREATE TABLE keys (
${columnsText(KEYS, DIALECT)}
  );
  CREATE INDEX keys_of_api ON keys (api_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_identity ON keys (identity_id, id) WHERE deleted_at_ms IS NULL AND identity_id IS NOT NULL;
  CREATE INDEX keys_of_plan ON keys (plan_id, api_id, generation, id, enabled, expires_at_ms) WHERE plan_id IS NOT NULL AND deleted_at_ms IS NULL;
  CREATE INDEX keys_of_next_plan ON keys (next_plan_id, id) WHERE next_plan_id IS NOT NULL AND deleted_at_ms IS NULL;
  CREATE INDEX keys_by_credits ON keys (credits_account) WHERE credits_account IS NOT NULL;
  CREATE INDEX keys_of_generation ON keys (api_id, generation, id, enabled, expires_at_ms) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_owner ON keys (api_id, generation, identity_id, id, enabled, expires_at_ms) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_expiring ON keys ((expires_at_ms - expires_within_ms)) WHERE expires_within_ms IS NOT NULL AND told_expiry_ms IS NULL;
  CREATE INDEX keys_by_start ON keys (api_id, start, id) WHERE deleted_at_ms IS NULL;

  -- Words that find a record. The scope of a key is its api, that of an identity the word "identities".
  CREATE TABLE search_words (
    scope ${TEXT} NOT NULL, word ${TEXT} NOT NULL, id ${TEXT} NOT NULL, PRIMARY KEY (scope, word, id)
  );

  -- Secrets that were replaced and are valid for a while.
  CREATE TABLE former_secrets (digest ${TEXT} PRIMARY KEY, owner ${TEXT} NOT NULL, until_ms bigint NOT NULL);
  CREATE INDEX former_secrets_of_owner ON former_secrets (owner, until_ms);
  CREATE INDEX former_secrets_ended ON former_secrets (until_ms);

  CREATE TABLE root_keys (
${columnsText(ROOT_KEYS, DIALECT)}
  );

  -- Browsers that are signed in to the dashboard.
  CREATE TABLE sessions (
    id ${TEXT} PRIMARY KEY,
    digest ${TEXT} NOT NULL UNIQUE,
    root_key_id ${TEXT} NOT NULL,
    created_at_ms bigint NOT NULL,
    used_at_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    origin text,
    browser text
  );
  CREATE INDEX sessions_of_root_key ON sessions (root_key_id);
  CREATE INDEX sessions_ended ON sessions (until_ms);

  CREATE TABLE portal_sessions (
    id ${TEXT} PRIMARY KEY,
    digest ${TEXT} NOT NULL UNIQUE,
    root_key_id ${TEXT} NOT NULL,
    identity_id ${TEXT} NOT NULL,
    api_id ${TEXT} NOT NULL,
    allowed ${TEXT} NOT NULL,
    key_defaults ${TEXT},
    return_url ${TEXT},
    created_at_ms bigint NOT NULL,
    opened_at_ms bigint,
    until_ms bigint NOT NULL,
    changes bigint NOT NULL
  );
  CREATE INDEX portal_sessions_of_identity ON portal_sessions (identity_id);
  CREATE INDEX portal_sessions_ended ON portal_sessions (until_ms);

  CREATE TABLE permissions (
${columnsText(PERMISSIONS, DIALECT)}
  );

  CREATE TABLE roles (
${columnsText(ROLES, DIALECT)}
  );

  CREATE TABLE namespaces (
${columnsText(NAMESPACES, DIALECT)}
  );

  CREATE TABLE overrides (
${columnsText(OVERRIDES, DIALECT)},
    UNIQUE (namespace_id, identifier)
  );
  CREATE INDEX overrides_of_namespace ON overrides (namespace_id, id);

  CREATE TABLE imports (
    id ${TEXT} PRIMARY KEY, api_id ${TEXT} NOT NULL, queued bigint NOT NULL, done bigint NOT NULL, failed bigint NOT NULL
  );
  CREATE TABLE import_batches (
    id ${TEXT} PRIMARY KEY,
    import_id ${TEXT} NOT NULL,
    api_id ${TEXT} NOT NULL,
    first_index bigint NOT NULL,
    size bigint NOT NULL,
    keys ${TEXT} NOT NULL,
    actor ${TEXT} NOT NULL
  );
  CREATE TABLE import_errors (
    import_id ${TEXT} NOT NULL, key_index bigint NOT NULL, message ${TEXT} NOT NULL, PRIMARY KEY (import_id, key_index)
  );

  -- The audit log: only ever added to, in the transaction of the change.
  CREATE TABLE audit_entries (
    number bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at_ms bigint NOT NULL,
    actor ${TEXT} NOT NULL,
    action ${TEXT} NOT NULL,
    target ${TEXT} NOT NULL,
    before_json text,
    after_json text,
    origin text,
    request_id text,
    via text
  );
  CREATE INDEX audit_entries_by_actor ON audit_entries (actor, number);
  CREATE INDEX audit_entries_by_action ON audit_entries (action, number);
  CREATE INDEX audit_entries_by_target ON audit_entries (target, number);
  CREATE INDEX audit_entries_by_time ON audit_entries (at_ms);
  `;

/** What accounts of credits have besides their rows: statements, grants that expire, and reservations. */
export const CREDIT_TABLES = `
  -- The statement: what happened to the credits of an account, in lines that lie within one UTC day and one refill period. The running
  -- line has a row only after something other than a spend happened.
  CREATE TABLE statement_lines (
    account bigint NOT NULL,
    start_ms bigint NOT NULL,
    period_ms bigint NOT NULL,
    opening bigint NOT NULL,
    granted bigint NOT NULL DEFAULT 0,
    refilled bigint NOT NULL DEFAULT 0,
    adjusted bigint NOT NULL DEFAULT 0,
    spent bigint NOT NULL DEFAULT 0,
    expired bigint NOT NULL DEFAULT 0,
    closing bigint NOT NULL,
    held bigint NOT NULL,
    -- An event has told of the refill.
    told integer NOT NULL DEFAULT 0,
    PRIMARY KEY (account, start_ms)
  );
  CREATE INDEX statement_lines_by_time ON statement_lines (start_ms);
  CREATE INDEX statement_lines_untold ON statement_lines (start_ms, account) WHERE refilled > 0 AND told = 0;
  -- Who had the credits of an account that was closed.
  CREATE TABLE closed_accounts (account bigint PRIMARY KEY, owner ${TEXT} NOT NULL, metered integer NOT NULL);
  CREATE INDEX closed_accounts_of_owner ON closed_accounts (owner, account);

  -- What events have told of the balances of accounts. Rows go as soon as the balance rises to "below" again.
  CREATE TABLE told_credits (
    account bigint NOT NULL, type ${TEXT} NOT NULL, below bigint NOT NULL, PRIMARY KEY (account, type, below)
  );
  -- The end of the last window of a limit that an event has told of.
  CREATE TABLE told_limits (
    owner ${TEXT} NOT NULL, name ${TEXT} NOT NULL, duration_ms bigint NOT NULL, reset_at_ms bigint NOT NULL,
    PRIMARY KEY (owner, name, duration_ms)
  );
  CREATE INDEX told_limits_ended ON told_limits (reset_at_ms);

  -- Of accounts that have grants that expire, or reservations (core/pockets.ts).
  CREATE TABLE pockets (account bigint PRIMARY KEY, held bigint NOT NULL, state text NOT NULL);

  CREATE TABLE reservations (
    id ${TEXT} PRIMARY KEY,
    key_id ${TEXT} NOT NULL,
    api_id ${TEXT} NOT NULL,
    identity_id ${TEXT},
    cost bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    on_expiry ${TEXT} NOT NULL,
    created_at_ms bigint NOT NULL,
    parts text NOT NULL,
    state ${TEXT} NOT NULL,
    ended_at_ms bigint,
    charged bigint NOT NULL,
    returned bigint NOT NULL,
    remaining bigint,
    settled_cost bigint,
    idempotency_id ${TEXT},
    request_digest ${TEXT},
    answer text NOT NULL
  );
  CREATE INDEX reservations_of_key ON reservations (key_id, id);
  CREATE INDEX reservations_held_of_key ON reservations (key_id, expires_at_ms) WHERE state = 'held';
  CREATE INDEX reservations_held_of_identity ON reservations (identity_id, expires_at_ms) WHERE state = 'held';
  CREATE INDEX reservations_due ON reservations (expires_at_ms) WHERE state = 'held';
  CREATE INDEX reservations_ended ON reservations (ended_at_ms) WHERE state <> 'held';
  CREATE UNIQUE INDEX reservations_by_idempotency ON reservations (key_id, idempotency_id) WHERE idempotency_id IS NOT NULL;

  -- Calls that granted or adjusted credits. A repeated call finds the first one by its idempotency key.
  CREATE TABLE credit_calls (
    id ${TEXT} PRIMARY KEY,
    owner ${TEXT} NOT NULL,
    kind ${TEXT} NOT NULL,
    amount bigint NOT NULL,
    expires_at_ms bigint,
    reason text NOT NULL,
    idempotency_id ${TEXT},
    at_ms bigint NOT NULL
  );
  CREATE UNIQUE INDEX credit_calls_by_idempotency ON credit_calls (owner, idempotency_id) WHERE idempotency_id IS NOT NULL;
  CREATE INDEX credit_calls_by_time ON credit_calls (at_ms);
`;

/** Events, the webhooks that get them, and their deliveries. */
export const EVENT_TABLES = `
  -- Numbered in the order of the commits (changeNotices.ts).
  CREATE TABLE events (
    sequence bigint PRIMARY KEY,
    id ${TEXT} NOT NULL,
    type ${TEXT} NOT NULL,
    at_ms bigint NOT NULL,
    data text NOT NULL
  );
  CREATE INDEX events_by_type ON events (type, sequence);
  CREATE INDEX events_by_time ON events (at_ms);
  CREATE UNIQUE INDEX events_by_id ON events (id);
  CREATE TABLE event_counter (sequence bigint NOT NULL);
  INSERT INTO event_counter VALUES (0);

  CREATE TABLE webhooks (
    id ${TEXT} PRIMARY KEY,
    url text NOT NULL,
    types text,
    enabled integer NOT NULL,
    paused_at_ms bigint,
    paused_because text,
    -- Encrypted (KEYSTILE_ENCRYPTION_KEY).
    secret text NOT NULL,
    former_secret text,
    former_until_ms bigint,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    revision bigint NOT NULL
  );
  -- The last event that each webhook was asked about. Nothing before it is missing from its deliveries.
  CREATE TABLE webhook_queues (webhook_id ${TEXT} PRIMARY KEY, queued_to bigint NOT NULL);
  -- What each webhook gets: 0 = waits, 1 = delivered, 2 = given up. Whoever holds the lease sends until due_at_ms; then it is due again.
  CREATE TABLE deliveries (
    webhook_id ${TEXT} NOT NULL,
    sequence bigint NOT NULL,
    event_id ${TEXT} NOT NULL,
    type ${TEXT} NOT NULL,
    state bigint NOT NULL,
    due_at_ms bigint NOT NULL,
    lease ${TEXT},
    attempts bigint NOT NULL,
    queued_at_ms bigint NOT NULL,
    -- The first of the tries that failed in a row.
    failing_since_ms bigint,
    last_at_ms bigint,
    last_status bigint,
    last_error text,
    PRIMARY KEY (webhook_id, sequence)
  );
  CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at_ms) WHERE state = 0;
  CREATE INDEX deliveries_waiting ON deliveries (sequence) WHERE state = 0;
  `;

/** The number of bytes of one version of a row. */
const ACCOUNT_PADDING = 92;

export const LEDGER_TABLES = `
  -- The exact counters. No foreign keys, and no index but these.
  -- New rows are padded. The first update drops the padding, which leaves space on the page for new versions. The database cleans
  -- up a page only when it is full; without the padding, that would be with every spend.
  -- Only the value has a CHECK: each check costs time in every statement.
  CREATE TABLE accounts (
    id bigint PRIMARY KEY,
    kind smallint NOT NULL,
    value bigint NOT NULL CHECK (value BETWEEN 0 AND 9007199254740991),
    mark bigint NOT NULL,
    due_at_ms bigint NOT NULL,
    revision bigint NOT NULL,
    base bigint NOT NULL DEFAULT 0,
    segment_ms bigint NOT NULL DEFAULT 0,
    padding ${TEXT} DEFAULT repeat('.', ${ACCOUNT_PADDING})
  ) WITH (fillfactor = 85);
  CREATE INDEX accounts_due ON accounts (due_at_ms, id) WHERE due_at_ms > 0;
  CREATE SEQUENCE account_numbers;

  CREATE TABLE adhoc_windows (
    owner ${TEXT} NOT NULL,
    name ${TEXT} NOT NULL,
    duration_ms bigint NOT NULL,
    account bigint NOT NULL UNIQUE,
    PRIMARY KEY (owner, name, duration_ms)
  );

  -- Answers that are remembered by idempotency key, in two partitions by time: the older one is emptied as a whole, which costs no
  -- search and leaves no holes.
  CREATE TABLE idempotency_0 (
    scope ${TEXT} NOT NULL, id ${TEXT} NOT NULL, request_digest ${TEXT} NOT NULL, outcome ${TEXT} NOT NULL,
    PRIMARY KEY (scope, id)
  );
  CREATE TABLE idempotency_1 (LIKE idempotency_0 INCLUDING ALL);
  -- Which partition runs, and since when; NULL until pruning has looked at it for the first time.
  CREATE TABLE idempotency_partition (partition integer NOT NULL, since_ms bigint);
  INSERT INTO idempotency_partition VALUES (0, NULL);

  -- The number and the answer of the last batch of each committer.
  CREATE TABLE committers (
    id bigint PRIMARY KEY,
    batch bigint NOT NULL DEFAULT 0,
    verdicts text,
    resolved bigint NOT NULL DEFAULT 0,
    used_at_ms bigint NOT NULL
  ) WITH (fillfactor = 20);
  `;

/** Tables through which nodes exchange changes, local counts and their state. */
export const NODE_TABLES = `
  -- What changed, numbered in the order of the commits: the counter is taken as the last statement of a change.
  CREATE TABLE changes (
    number bigint PRIMARY KEY,
    at_ms bigint NOT NULL,
    keys text[] NOT NULL,
    root_keys boolean NOT NULL,
    subjects text
  );
  CREATE INDEX changes_by_time ON changes (at_ms);
  -- The token changes with each change of a record that existed before. Unlike the number, it is never given twice: a promoted
  -- standby can give a number once more that its primary had given to another change.
  CREATE TABLE change_counter (number bigint NOT NULL, token text NOT NULL);
  INSERT INTO change_counter VALUES (0, gen_random_uuid()::text);

  -- What every node has let through, by window. Not logged: after a crash of the database the nodes go on from memory.
  -- Half of each page is free: the next count of a row goes beside it, and an index changes only when an indexed column does.
  CREATE UNLOGGED TABLE local_counts (
    owner ${TEXT} NOT NULL,
    name ${TEXT} NOT NULL,
    duration_ms bigint NOT NULL,
    node ${TEXT} NOT NULL,
    count bigint NOT NULL,
    reset_at_ms bigint NOT NULL,
    pushed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (owner, name, duration_ms, node)
  ) WITH (fillfactor = 50);
  CREATE INDEX local_counts_pushed ON local_counts (pushed_at);
  CREATE INDEX local_counts_ended ON local_counts (reset_at_ms);

  CREATE UNLOGGED TABLE nodes (
    id ${TEXT} PRIMARY KEY,
    location ${TEXT} NOT NULL,
    version ${TEXT} NOT NULL,
    -- The schema version that its program was made for.
    schema_version bigint NOT NULL,
    started_at_ms bigint NOT NULL,
    seen_at_ms bigint NOT NULL,
    sync_lag_ms bigint,
    freshness_age_ms bigint,
    clock_offset_ms bigint NOT NULL
  );
  `;
