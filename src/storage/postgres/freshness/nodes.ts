import type { Client } from 'pg';

import { GONE_AFTER_MS } from '../../../core/health.ts';
import { asUnavailable } from '../connection/databaseError.ts';
import type { Pool } from '../connection/pool.ts';

/** The schema version of a database, and the oldest program that can work with it (as the schema version that the program was made for). */
export interface SchemaVersions {
  readonly version: number;
  readonly compatibleFrom: number;
}

/** A node as the others see it. */
export interface NodeRecord {
  readonly id: string;
  readonly location: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  /** How long ago it last exchanged local counts; null = never. */
  readonly syncLagMs: number | null;
  /** The age of its knowledge of changes. */
  readonly freshnessAgeMs: number | null;
  /** The database's clock minus its own. */
  readonly clockOffsetMs: number;
}

/** A node as it registers itself. */
type Hello = Omit<NodeRecord, 'seenAtMs'> & {
  /** The schema version that its program was made for. */
  readonly schemaVersion: number;
};

/** Also returns the schema versions of the database: a node must stop when it has become too old for it. */
function helloQuery(node: Hello) {
  return {
    text: `INSERT INTO nodes (id, location, version, schema_version, started_at_ms, seen_at_ms, sync_lag_ms, freshness_age_ms, clock_offset_ms)
      VALUES ($1, $2, $3, $4, $5, ledger_now_v1(NULL), $6, $7, $8)
      ON CONFLICT (id) DO UPDATE SET location = excluded.location, seen_at_ms = excluded.seen_at_ms,
        sync_lag_ms = excluded.sync_lag_ms, freshness_age_ms = excluded.freshness_age_ms, clock_offset_ms = excluded.clock_offset_ms
      RETURNING (SELECT value::int FROM installation WHERE name = 'schema_version') AS version,
        (SELECT value::int FROM installation WHERE name = 'schema_compatible_from') AS "compatibleFrom"`,
    values: [
      node.id,
      node.location,
      node.version,
      node.schemaVersion,
      node.startedAtMs,
      node.syncLagMs,
      node.freshnessAgeMs,
      node.clockOffsetMs,
    ],
  };
}

export async function sayHello(pool: Pool, node: Hello): Promise<SchemaVersions | null> {
  const { rows } = await asUnavailable(
    pool.write<SchemaVersions & Record<string, unknown>>({ name: 'hello', ...helloQuery(node) }),
  );
  return rows[0] ?? null;
}

/** The first row of a starting node, which knows nothing of the others yet. */
export async function register(
  client: Client,
  {
    node,
    nowMs,
    location,
    version,
    schemaVersion,
  }: Pick<Hello, 'location' | 'version' | 'schemaVersion'> & { readonly node: string; readonly nowMs: () => number },
): Promise<void> {
  const unknown = { syncLagMs: null, freshnessAgeMs: null, clockOffsetMs: 0 };
  await client.query(helloQuery({ id: node, location, version, schemaVersion, startedAtMs: nowMs(), ...unknown }));
}

export async function sayGoodbye(pool: Pool, id: string): Promise<void> {
  await asUnavailable(pool.write({ text: 'DELETE FROM nodes WHERE id = $1', values: [id] }));
}

/** Removes a node from the list, unless it was seen a moment ago. A node that comes back registers itself again. */
export async function forgetNode(pool: Pool, id: string): Promise<'forgotten' | 'alive' | 'unknown'> {
  const text = 'DELETE FROM nodes WHERE id = $1 AND seen_at_ms < ledger_now_v1(NULL) - $2';
  const { rowCount } = await asUnavailable(pool.write({ text, values: [id, GONE_AFTER_MS] }));
  if (rowCount === 1) return 'forgotten';
  const known = await asUnavailable(pool.query({ text: 'SELECT 1 FROM nodes WHERE id = $1', values: [id] }));
  return known.rowCount === 1 ? 'alive' : 'unknown';
}

/** Includes the database's time, to compare with `seenAtMs`. */
export async function listNodes(pool: Pick<Pool, 'query'>): Promise<{ nowMs: number; nodes: readonly NodeRecord[] }> {
  const { rows } = await asUnavailable(
    pool.query<NodeRecord & { now: number } & Record<string, unknown>>({
      text: `SELECT id, location, version, started_at_ms AS "startedAtMs", seen_at_ms AS "seenAtMs", sync_lag_ms AS "syncLagMs",
          freshness_age_ms AS "freshnessAgeMs", clock_offset_ms AS "clockOffsetMs", ledger_now_v1(NULL) AS now
        FROM nodes ORDER BY location, id`,
    }),
  );
  return { nowMs: rows[0]?.now ?? 0, nodes: rows.map(({ now: _now, ...node }) => node) };
}

/** How long the oldest transaction of any session has been open. It keeps the database from cleaning up old versions of busy rows. */
export async function oldestTransactionMs(pool: Pick<Pool, 'query'>): Promise<number> {
  const { rows } = await asUnavailable(
    pool.query<{ age: number }>({
      text: `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)) * 1000, 0)::bigint AS age
          FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND datname = current_database()`,
    }),
  );
  return rows[0]?.age ?? 0;
}
