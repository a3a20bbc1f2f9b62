import { TEXT } from './textType.ts';

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
