import type { Client } from 'pg';

import { copyCounts, FORMER_CODES } from '../../sql/analytics/formerCounts.ts';
import { FOLD_LOCK } from '../analytics/foldCounts.ts';
import type { CopyProgress } from './migrate.ts';
import { TEXT } from './textType.ts';

const SUMMED = 'code smallint NOT NULL, count bigint NOT NULL, credits bigint NOT NULL';

/** Counts of verifications, with a row for each code of a verdict: a new code is a new number, and no new column. */
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

/**
 * Nodes of version 2 read the new tables as they read theirs. They leave the fold to newer nodes, which they do where another node folds.
 * A question of analytics takes at most five seconds, and nothing but such questions queues behind the lock on the tables that go.
 */
export const COUNTS_AS_BEFORE = `
  SET LOCAL lock_timeout = '10s';
  CREATE INDEX key_verdicts_of_key ON key_verdicts (key_id, span, time_ms) WHERE span > 0;
  CREATE INDEX api_verdicts_by_time ON api_verdicts (span, time_ms);
  DROP TABLE key_counts;
  DROP TABLE api_counts;
  DROP TABLE count_log;

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

/** Meanwhile older nodes answer questions and add slices, and none folds. */
export async function copyFormerCounts(client: Client, { tell, goesOn }: CopyProgress): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [FOLD_LOCK]);
  const statements = copyCounts((table, done) => tell('migrating the database', { table, done }));
  for (let next = statements.next([]); next.done !== true;) {
    const { sql, params } = next.value;
    next = statements.next((await client.query(sql, [...params])).rows);
    goesOn();
  }
}
