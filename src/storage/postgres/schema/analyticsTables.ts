import { TEXT } from './textType.ts';

/**
 * Verifications by outcome, and the credits that they took, in three forms: as nodes sent them, as rows of a log, and as sums by span
 * (0 minute, 1 hour, 2 day).
 */
export const ANALYTICS_TABLES = `
  CREATE TABLE count_slices (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, apis text NOT NULL, body text NOT NULL);
  ALTER TABLE count_slices ALTER COLUMN body SET STORAGE EXTERNAL;

  CREATE TABLE count_log (
    number bigint GENERATED ALWAYS AS IDENTITY,
    minute_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, identity_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    valid bigint NOT NULL, not_found bigint NOT NULL, forbidden bigint NOT NULL, disabled bigint NOT NULL, expired bigint NOT NULL,
    insufficient_permissions bigint NOT NULL, rate_limited bigint NOT NULL, usage_exceeded bigint NOT NULL, credits bigint NOT NULL,
    last_at_ms bigint NOT NULL,
    PRIMARY KEY (key_id, number)
  );

  -- '' stands for no key, no identity, no tags. Rows of one time are beside each other, as they come, and each page has space for the
  -- next counts of its rows.
  CREATE TABLE key_counts (
    span bigint NOT NULL, time_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, identity_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    valid bigint NOT NULL, not_found bigint NOT NULL, forbidden bigint NOT NULL, disabled bigint NOT NULL, expired bigint NOT NULL,
    insufficient_permissions bigint NOT NULL, rate_limited bigint NOT NULL, usage_exceeded bigint NOT NULL, credits bigint NOT NULL,
    PRIMARY KEY (span, time_ms, api_id, key_id, identity_id, tags)
  ) WITH (fillfactor = 70);
  CREATE INDEX key_counts_of_key ON key_counts (key_id, span, time_ms) WHERE span > 0;
  CREATE TABLE api_counts (
    span bigint NOT NULL, time_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    valid bigint NOT NULL, not_found bigint NOT NULL, forbidden bigint NOT NULL, disabled bigint NOT NULL, expired bigint NOT NULL,
    insufficient_permissions bigint NOT NULL, rate_limited bigint NOT NULL, usage_exceeded bigint NOT NULL, credits bigint NOT NULL,
    PRIMARY KEY (api_id, span, time_ms, tags)
  );
  CREATE INDEX api_counts_by_time ON api_counts (span, time_ms);
  CREATE TABLE key_uses (key_id ${TEXT} PRIMARY KEY, last_used_at_ms bigint NOT NULL) WITH (fillfactor = 70);

  -- The last batch of counts of each node: one that is sent again is not added again.
  CREATE TABLE count_marks (node ${TEXT} PRIMARY KEY, batch bigint NOT NULL, at_ms bigint NOT NULL);
  `;
