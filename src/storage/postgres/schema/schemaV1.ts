import { FUNCTIONS_V1 } from './spendFunction.ts';
import { TEXT } from './textType.ts';

export const SCHEMA_V1 = `
  CREATE TABLE apis (id ${TEXT} PRIMARY KEY, name ${TEXT} NOT NULL, created_at_ms bigint NOT NULL);

  CREATE TABLE identities (
    id ${TEXT} PRIMARY KEY,
    external_id ${TEXT} NOT NULL UNIQUE,
    meta ${TEXT},
    created_at_ms bigint NOT NULL
  );

  CREATE TABLE keys (
    id ${TEXT} PRIMARY KEY,
    api_id ${TEXT} NOT NULL,
    identity_id ${TEXT},
    secret_digest ${TEXT} NOT NULL UNIQUE,
    start ${TEXT} NOT NULL,
    name ${TEXT},
    meta ${TEXT},
    environment ${TEXT},
    enabled integer NOT NULL,
    expires_at_ms bigint,
    credits ${TEXT},
    credits_account bigint,
    limits ${TEXT},
    ip_allowlist ${TEXT},
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    deleted_at_ms bigint,
    revision bigint NOT NULL
  );
  CREATE INDEX keys_of_api ON keys (api_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_identity ON keys (api_id, identity_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_by_credits ON keys (credits_account) WHERE credits_account IS NOT NULL;

  CREATE TABLE root_keys (
    id ${TEXT} PRIMARY KEY,
    secret_digest ${TEXT} NOT NULL UNIQUE,
    start ${TEXT} NOT NULL,
    name ${TEXT},
    rights ${TEXT} NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    revoked_at_ms bigint
  );

  -- The exact counters. No foreign keys, no index but these; room in every page, so that a changed row stays in its page.
  CREATE TABLE accounts (
    id bigint PRIMARY KEY,
    kind smallint NOT NULL CHECK (kind IN (0, 1)),
    value bigint NOT NULL CHECK (value BETWEEN 0 AND 9007199254740991),
    mark bigint NOT NULL CHECK (mark BETWEEN 0 AND 9007199254740991),
    due_at_ms bigint NOT NULL CHECK (due_at_ms BETWEEN 0 AND 9007199254740991),
    revision bigint NOT NULL CHECK (revision BETWEEN 0 AND 9007199254740991)
  ) WITH (fillfactor = 70);
  CREATE INDEX accounts_due ON accounts (due_at_ms, id) WHERE due_at_ms > 0;
  CREATE SEQUENCE account_numbers;

  CREATE TABLE adhoc_windows (
    owner ${TEXT} NOT NULL,
    name ${TEXT} NOT NULL,
    duration_ms bigint NOT NULL,
    account bigint NOT NULL UNIQUE,
    PRIMARY KEY (owner, name, duration_ms)
  );

  -- Two partitions by time: the older one is emptied as a whole, which costs no search and leaves no holes.
  CREATE TABLE replays_0 (
    scope ${TEXT} NOT NULL, id ${TEXT} NOT NULL, request_digest ${TEXT} NOT NULL, outcome ${TEXT} NOT NULL,
    PRIMARY KEY (scope, id)
  );
  CREATE TABLE replays_1 (LIKE replays_0 INCLUDING ALL);
  -- Which one runs, and since when; NULL until pruning has looked at it for the first time.
  CREATE TABLE replay_partition (partition integer NOT NULL, since_ms bigint);
  INSERT INTO replay_partition VALUES (0, NULL);

  -- One row for every connection of a ledger: the number and the answer of its last batch.
  CREATE TABLE lanes (
    id bigint PRIMARY KEY,
    batch bigint NOT NULL DEFAULT 0,
    verdicts text,
    resolved bigint NOT NULL DEFAULT 0,
    used_at_ms bigint NOT NULL
  ) WITH (fillfactor = 20);

  -- What changed, numbered in the order of the commits: the counter is taken as the last statement of a change.
  CREATE TABLE changes (
    number bigint PRIMARY KEY,
    at_ms bigint NOT NULL,
    keys text[] NOT NULL,
    root_keys boolean NOT NULL
  );
  CREATE TABLE change_counter (number bigint NOT NULL);
  INSERT INTO change_counter VALUES (0);

  -- What every node has let through, by window. Not logged: after a crash of the database the nodes go on from memory.
  CREATE UNLOGGED TABLE edge_counts (
    owner ${TEXT} NOT NULL,
    name ${TEXT} NOT NULL,
    duration_ms bigint NOT NULL,
    node ${TEXT} NOT NULL,
    count bigint NOT NULL,
    reset_at_ms bigint NOT NULL,
    pushed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (owner, name, duration_ms, node)
  );
  CREATE INDEX edge_counts_pushed ON edge_counts (pushed_at);
  CREATE INDEX edge_counts_ended ON edge_counts (reset_at_ms);

  CREATE UNLOGGED TABLE nodes (
    id ${TEXT} PRIMARY KEY,
    location ${TEXT} NOT NULL,
    version ${TEXT} NOT NULL,
    started_at_ms bigint NOT NULL,
    seen_at_ms bigint NOT NULL,
    sync_lag_ms bigint,
    feed_age_ms bigint,
    clock_offset_ms bigint NOT NULL
  );
  ${FUNCTIONS_V1}
  `;
