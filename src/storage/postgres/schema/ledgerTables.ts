import { TEXT } from './textType.ts';

/** As many bytes as a version of a row has. */
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
