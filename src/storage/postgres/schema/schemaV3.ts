import { SPEND_V2 } from './spendFunction.ts';
import { TAKE_V1 } from './takeFunction.ts';
import { TEXT } from './textType.ts';

/** As many bytes as a version of a row has. */
const ACCOUNT_ROOM = 76;

/**
 * What nodes have counted and nobody has brought into the sums yet: as it was sent, then by rows. Programs of version 2 go on
 * adding to the sums at once.
 */
export const SCHEMA_V3 = `
  CREATE TABLE tally_slices (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, apis text NOT NULL, body text NOT NULL);
  ALTER TABLE tally_slices ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE TABLE tally_log (
    number bigint GENERATED ALWAYS AS IDENTITY,
    minute_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, identity_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    valid bigint NOT NULL, not_found bigint NOT NULL, forbidden bigint NOT NULL, disabled bigint NOT NULL, expired bigint NOT NULL,
    insufficient_permissions bigint NOT NULL, rate_limited bigint NOT NULL, usage_exceeded bigint NOT NULL,
    last_at_ms bigint NOT NULL,
    PRIMARY KEY (key_id, number)
  );

  -- A new account is wider than it will ever be again, so that a page has room for many versions of its rows: it is looked
  -- through for what can be removed only when it is full, which would otherwise be with every spend.
  ALTER TABLE accounts ADD COLUMN room ${TEXT};
  ALTER TABLE accounts ALTER COLUMN room SET DEFAULT repeat('.', ${ACCOUNT_ROOM});
  ALTER TABLE accounts SET (fillfactor = 85);
  -- The database reads each of them anew with every statement. The value is what must not become wrong.
  ALTER TABLE accounts DROP CONSTRAINT accounts_kind_check, DROP CONSTRAINT accounts_mark_check,
    DROP CONSTRAINT accounts_due_at_ms_check, DROP CONSTRAINT accounts_revision_check;
  -- Room for the next count of each row beside it: then no index has to be told, as long as nothing that is indexed changes.
  ALTER TABLE edge_counts SET (fillfactor = 50);
  ${TAKE_V1}
  ${SPEND_V2}
  `;

/**
 * Rows of one time beside each other, as they come, and room in each page for the next counts of its rows. The columns of the
 * primary key stay what they are: programs of version 2 name them. The indexes are made before anything is taken away, which
 * needs the table for itself, but not for long.
 */
export const INDEXES_V3 = `
  CREATE UNIQUE INDEX key_tallies_by_time_api_key ON key_tallies (span, time_ms, api_id, key_id, identity_id, tags);
  CREATE INDEX key_tallies_of_key ON key_tallies (key_id, span, time_ms) WHERE span > 0;
  ALTER TABLE key_tallies SET (fillfactor = 70);
  ALTER TABLE key_uses SET (fillfactor = 70);
  ALTER TABLE key_tallies DROP CONSTRAINT key_tallies_pkey;
  ALTER TABLE key_tallies ADD CONSTRAINT key_tallies_pkey PRIMARY KEY USING INDEX key_tallies_by_time_api_key;
  DROP INDEX key_tallies_of_api;
  DROP INDEX key_tallies_by_time;
  `;
