import type { Client } from 'pg';

import { FUNCTIONS_V1 } from './functions.ts';
import { WrongServer } from './connector.ts';

interface Migration {
  readonly sql: string;
  /** The oldest program that can work with the schema after it, by the schema version that program was made for. */
  readonly compatibleFrom: number;
}

/** Text is compared byte by byte, as SQLite does it: ids have one order everywhere. */
const TEXT = 'text COLLATE "C"';

/**
 * Forward migrations: entry N brings version N to N + 1. An entry that was released is never edited. A program of the version
 * before goes on working on the new schema, so that nodes can be replaced one by one: columns are added with a default,
 * functions get a new name, and what is not used any more is removed one version later.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    compatibleFrom: 1,
    sql: `
  CREATE TABLE apis (id ${TEXT} PRIMARY KEY, name ${TEXT} NOT NULL, created_at_ms bigint NOT NULL);

  CREATE TABLE identities (
    id ${TEXT} PRIMARY KEY,
    external_id ${TEXT} NOT NULL UNIQUE,
    meta ${TEXT},
    created_at_ms bigint NOT NULL
  );

  CREATE TABLE keys (
    id ${TEXT} PRIMARY KEY,
    api_id ${TEXT} NOT NULL,
    identity_id ${TEXT},
    secret_digest ${TEXT} NOT NULL UNIQUE,
    start ${TEXT} NOT NULL,
    name ${TEXT},
    meta ${TEXT},
    environment ${TEXT},
    enabled integer NOT NULL,
    expires_at_ms bigint,
    credits ${TEXT},
    credits_account bigint,
    limits ${TEXT},
    ip_allowlist ${TEXT},
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    deleted_at_ms bigint,
    revision bigint NOT NULL
  );
  CREATE INDEX keys_of_api ON keys (api_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_identity ON keys (api_id, identity_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_by_credits ON keys (credits_account) WHERE credits_account IS NOT NULL;

  CREATE TABLE root_keys (
    id ${TEXT} PRIMARY KEY,
    secret_digest ${TEXT} NOT NULL UNIQUE,
    start ${TEXT} NOT NULL,
    name ${TEXT},
    rights ${TEXT} NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    revoked_at_ms bigint
  );

  -- The exact counters. No foreign keys, no index but these; room in every page, so that a changed row stays in its page.
  CREATE TABLE accounts (
    id bigint PRIMARY KEY,
    kind smallint NOT NULL CHECK (kind IN (0, 1)),
    value bigint NOT NULL CHECK (value BETWEEN 0 AND 9007199254740991),
    mark bigint NOT NULL CHECK (mark BETWEEN 0 AND 9007199254740991),
    due_at_ms bigint NOT NULL CHECK (due_at_ms BETWEEN 0 AND 9007199254740991),
    revision bigint NOT NULL CHECK (revision BETWEEN 0 AND 9007199254740991)
  ) WITH (fillfactor = 70);
  CREATE INDEX accounts_due ON accounts (due_at_ms, id) WHERE due_at_ms > 0;
  CREATE SEQUENCE account_numbers;

  CREATE TABLE adhoc_windows (
    owner ${TEXT} NOT NULL,
    name ${TEXT} NOT NULL,
    duration_ms bigint NOT NULL,
    account bigint NOT NULL UNIQUE,
    PRIMARY KEY (owner, name, duration_ms)
  );

  -- Two partitions by time: the older one is emptied as a whole, which costs no search and leaves no holes.
  CREATE TABLE replays_0 (
    scope ${TEXT} NOT NULL, id ${TEXT} NOT NULL, request_digest ${TEXT} NOT NULL, outcome ${TEXT} NOT NULL,
    PRIMARY KEY (scope, id)
  );
  CREATE TABLE replays_1 (LIKE replays_0 INCLUDING ALL);
  -- Which one runs, and since when; NULL until pruning has looked at it for the first time.
  CREATE TABLE replay_partition (partition integer NOT NULL, since_ms bigint);
  INSERT INTO replay_partition VALUES (0, NULL);

  -- One row for every connection of a ledger: the number and the answer of its last batch.
  CREATE TABLE lanes (
    id bigint PRIMARY KEY,
    batch bigint NOT NULL DEFAULT 0,
    verdicts text,
    resolved bigint NOT NULL DEFAULT 0,
    used_at_ms bigint NOT NULL
  ) WITH (fillfactor = 20);

  -- What changed, numbered in the order of the commits: the counter is taken as the last statement of a change.
  CREATE TABLE changes (
    number bigint PRIMARY KEY,
    at_ms bigint NOT NULL,
    keys text[] NOT NULL,
    root_keys boolean NOT NULL
  );
  CREATE TABLE change_counter (number bigint NOT NULL);
  INSERT INTO change_counter VALUES (0);

  -- What every node has let through, by window. Not logged: after a crash of the database the nodes go on from memory.
  CREATE UNLOGGED TABLE edge_counts (
    owner ${TEXT} NOT NULL,
    name ${TEXT} NOT NULL,
    duration_ms bigint NOT NULL,
    node ${TEXT} NOT NULL,
    count bigint NOT NULL,
    reset_at_ms bigint NOT NULL,
    pushed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (owner, name, duration_ms, node)
  );
  CREATE INDEX edge_counts_pushed ON edge_counts (pushed_at);
  CREATE INDEX edge_counts_ended ON edge_counts (reset_at_ms);

  CREATE UNLOGGED TABLE nodes (
    id ${TEXT} PRIMARY KEY,
    location ${TEXT} NOT NULL,
    version ${TEXT} NOT NULL,
    started_at_ms bigint NOT NULL,
    seen_at_ms bigint NOT NULL,
    sync_lag_ms bigint,
    feed_age_ms bigint,
    clock_offset_ms bigint NOT NULL
  );
  ${FUNCTIONS_V1}
  `,
  },
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Any number, the same for all nodes of all versions: who holds it migrates. */
const MIGRATION_LOCK = 7_218_530_411;

/** Brings the database to the version of this program, or leaves a newer one that it can work with. */
export async function migrate(client: Client, newWorkspaceId: () => string, upgrades: boolean): Promise<void> {
  // Whatever the default of the database is: what another node has made while this one waited must be seen.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(`CREATE TABLE IF NOT EXISTS installation (name ${TEXT} PRIMARY KEY, value ${TEXT} NOT NULL)`);
    const known = await readInstallation(client);
    const version = Number(known.get('schema_version') ?? 0);
    const compatibleFrom = Number(known.get('schema_compatible_from') ?? 0);
    if (version > SCHEMA_VERSION && compatibleFrom > SCHEMA_VERSION) {
      throw new WrongServer(
        `The database has schema version ${version}, which needs a program for version ${compatibleFrom} or newer; this one is for ${SCHEMA_VERSION}.`,
      );
    }
    if (version > 0 && version < SCHEMA_VERSION && !upgrades) {
      throw new WrongServer(
        `The database has schema version ${version}, and this program is for ${SCHEMA_VERSION}. Start keystile serve, which brings it there.`,
      );
    }
    for (const { sql } of MIGRATIONS.slice(version)) await client.query(sql);
    if (version < SCHEMA_VERSION) {
      await put(client, 'schema_version', String(SCHEMA_VERSION));
      await put(client, 'schema_compatible_from', String(MIGRATIONS.at(-1)?.compatibleFrom ?? 0));
    }
    if (!known.has('workspace_id')) await put(client, 'workspace_id', newWorkspaceId());
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

export async function readInstallation(client: Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; value: string }>('SELECT name, value FROM installation');
  return new Map(rows.map(({ name, value }) => [name, value]));
}

async function put(client: Client, name: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [name, value],
  );
}
