import { TEXT } from './textType.ts';

/** Events, the webhooks that get them, and what is sent to each. */
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
