import type { Client } from 'pg';

import { FOLD_LOCK } from '../analytics.ts';
import type { CopyProgress } from './migrate.ts';
import { TEXT } from './tables.ts';
import { FORMER_CODES } from '../../sql/analytics/countColumns.ts';
import { copyCounts } from '../../sql/analytics/formerCounts.ts';

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

const SUMMED = 'code smallint NOT NULL, count bigint NOT NULL, credits bigint NOT NULL';

/** Counts of verifications, with a row for each verdict code: a new code is a new number, not a new column. */
export const VERDICT_TABLES = `
  CREATE TABLE verdict_log (
    number bigint GENERATED ALWAYS AS IDENTITY,
    minute_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, identity_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL, ${SUMMED},
    last_at_ms bigint NOT NULL,
    PRIMARY KEY (key_id, number)
  );
  CREATE TABLE key_verdicts (
    span bigint NOT NULL, time_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, identity_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    ${SUMMED},
    PRIMARY KEY (span, time_ms, api_id, key_id, identity_id, tags, code)
  ) WITH (fillfactor = 70);
  CREATE TABLE api_verdicts (
    span bigint NOT NULL, time_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL, ${SUMMED},
    PRIMARY KEY (api_id, span, time_ms, tags, code)
  );
  `;

/** Made after the rows: building an index from all rows at once is faster. */
const INDEXES = [
  'CREATE INDEX key_verdicts_of_key ON key_verdicts (key_id, span, time_ms) WHERE span > 0',
  'CREATE INDEX api_verdicts_by_time ON api_verdicts (span, time_ms)',
  'ANALYZE key_verdicts, api_verdicts',
];

/**
 * Nodes of version 2 keep running: they read views in place of their tables. Their fold gets a serialization failure, which they take as a
 * sign that another node is folding. Their pruning removes nothing, because newer nodes prune. The rights on a table pass to what replaces
 * it.
 */
export const COUNTS_AS_BEFORE = `
  LOCK TABLE key_counts, api_counts, count_log;
  ALTER TABLE key_counts RENAME TO former_key_counts;
  ALTER TABLE api_counts RENAME TO former_api_counts;
  ALTER TABLE count_log RENAME TO former_count_log;

  CREATE VIEW key_counts AS SELECT span, time_ms, api_id, key_id, identity_id, tags, ${formerSums()}
    FROM key_verdicts GROUP BY span, time_ms, api_id, key_id, identity_id, tags;
  CREATE VIEW api_counts AS SELECT span, time_ms, api_id, tags, ${formerSums()} FROM api_verdicts GROUP BY span, time_ms, api_id, tags;
  CREATE RULE pruned_by_newer AS ON DELETE TO key_counts DO INSTEAD NOTHING;
  CREATE RULE pruned_by_newer AS ON DELETE TO api_counts DO INSTEAD NOTHING;

  CREATE FUNCTION fold_is_of_newer() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
    BEGIN RAISE EXCEPTION 'a newer node folds the counts' USING ERRCODE = 'serialization_failure'; END $$;
  CREATE FUNCTION log_is_of_newer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM fold_is_of_newer(); RETURN NULL; END $$;
  -- Only a fold reads the number, and only a fold inserts.
  CREATE VIEW count_log AS SELECT fold_is_of_newer() AS number, minute_ms, api_id, key_id, identity_id, tags, ${formerCounts().join(', ')},
    credits, last_at_ms FROM verdict_log;
  CREATE TRIGGER log_is_of_newer INSTEAD OF INSERT ON count_log FOR EACH ROW EXECUTE FUNCTION log_is_of_newer();

  DO $$ DECLARE given record; BEGIN
    FOR given IN
      SELECT part.name, a.privilege_type, coalesce(quote_ident(r.rolname), 'PUBLIC') AS role
      FROM (VALUES ('former_key_counts', 'key_counts'), ('former_key_counts', 'key_verdicts'), ('former_api_counts', 'api_counts'),
        ('former_api_counts', 'api_verdicts'), ('former_count_log', 'count_log'), ('former_count_log', 'verdict_log')) AS part (former, name)
      JOIN pg_class c ON c.oid = to_regclass(part.former)
      CROSS JOIN aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
      WHERE a.grantee <> c.relowner AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    LOOP EXECUTE format('GRANT %s ON %I TO %s', given.privilege_type, given.name, given.role); END LOOP;
  END $$;

  DROP TABLE former_key_counts;
  DROP TABLE former_api_counts;
  DROP TABLE former_count_log;
  `;

function formerCounts(): string[] {
  return FORMER_CODES.map((column, code) => `CASE WHEN code = ${code} THEN count ELSE 0 END AS ${column}`);
}

function formerSums(): string {
  const sums = FORMER_CODES.map(
    (column, code) => `coalesce(sum(count) FILTER (WHERE code = ${code}), 0)::bigint AS ${column}`,
  );
  return [...sums, 'sum(credits)::bigint AS credits'].join(', ');
}

/** Meanwhile older nodes answer questions and add slices, but none folds. */
export async function copyFormerCounts(client: Client, { tell, goesOn }: CopyProgress): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [FOLD_LOCK]);
  const statements = copyCounts((table, done) => tell('migrating the database', { table, done }));
  for (let next = statements.next([]); next.done !== true;) {
    const { sql, params } = next.value;
    next = statements.next((await client.query(sql, [...params])).rows);
    goesOn();
  }
  for (const statement of INDEXES) {
    await client.query(statement);
    goesOn();
  }
}
