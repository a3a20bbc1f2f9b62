/** Events, the webhooks that get them, and what is sent to each. */
export const EVENT_TABLES = `
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
