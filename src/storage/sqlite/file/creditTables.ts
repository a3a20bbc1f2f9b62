/** What accounts of credits have beside their rows: statements, grants that expire, and reservations. */
export const CREDIT_TABLES = `
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

  -- Of accounts that have grants that expire, or reservations (core/pockets.ts).
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
