import { TEXT } from './textType.ts';

/** What accounts of credits have beside their rows: statements, grants that expire, and reservations. */
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
