import type { Client } from 'pg';

import { FUNCTIONS_V1, FUNCTIONS_V2 } from './functions.ts';
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
  {
    compatibleFrom: 1,
    sql: `
  ALTER TABLE apis ADD COLUMN default_prefix ${TEXT};
  ALTER TABLE apis ADD COLUMN default_byte_length bigint;
  ALTER TABLE apis ADD COLUMN default_limit ${TEXT};
  ALTER TABLE apis ADD COLUMN delete_protected integer NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN generation bigint NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN purges_below bigint NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN updated_at_ms bigint;
  ALTER TABLE apis ADD COLUMN deleted_at_ms bigint;
  ALTER TABLE apis ADD COLUMN revision bigint NOT NULL DEFAULT 0;

  ALTER TABLE identities ADD COLUMN credits ${TEXT};
  ALTER TABLE identities ADD COLUMN credits_account bigint;
  ALTER TABLE identities ADD COLUMN limits ${TEXT};
  ALTER TABLE identities ADD COLUMN updated_at_ms bigint;
  ALTER TABLE identities ADD COLUMN revision bigint NOT NULL DEFAULT 0;
  CREATE INDEX identities_by_credits ON identities (credits_account) WHERE credits_account IS NOT NULL;

  ALTER TABLE keys ADD COLUMN roles ${TEXT};
  ALTER TABLE keys ADD COLUMN permissions ${TEXT};
  ALTER TABLE keys ADD COLUMN generation bigint NOT NULL DEFAULT 0;
  CREATE INDEX keys_of_generation ON keys (api_id, generation, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_owner ON keys (api_id, generation, identity_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_by_start ON keys (api_id, start, id) WHERE deleted_at_ms IS NULL;

  -- Words of names and metadata, for the search.
  CREATE TABLE key_words (
    api_id ${TEXT} NOT NULL, word ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, PRIMARY KEY (api_id, word, key_id)
  );

  -- Secrets that were replaced and are valid for a while.
  CREATE TABLE former_secrets (digest ${TEXT} PRIMARY KEY, owner ${TEXT} NOT NULL, until_ms bigint NOT NULL);
  CREATE INDEX former_secrets_of_owner ON former_secrets (owner, until_ms);
  CREATE INDEX former_secrets_ended ON former_secrets (until_ms);

  CREATE TABLE permissions (
    id ${TEXT} PRIMARY KEY,
    name ${TEXT} NOT NULL UNIQUE,
    slug ${TEXT} NOT NULL UNIQUE,
    description ${TEXT},
    created_at_ms bigint NOT NULL
  );

  CREATE TABLE roles (
    id ${TEXT} PRIMARY KEY,
    name ${TEXT} NOT NULL UNIQUE,
    description ${TEXT},
    permissions ${TEXT},
    created_at_ms bigint NOT NULL,
    revision bigint NOT NULL
  );

  CREATE TABLE namespaces (id ${TEXT} PRIMARY KEY, name ${TEXT} NOT NULL UNIQUE, created_at_ms bigint NOT NULL);

  CREATE TABLE overrides (
    id ${TEXT} PRIMARY KEY,
    namespace_id ${TEXT} NOT NULL,
    identifier ${TEXT} NOT NULL,
    max_count bigint NOT NULL,
    duration_ms bigint NOT NULL,
    async integer NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    UNIQUE (namespace_id, identifier)
  );
  CREATE INDEX overrides_of_namespace ON overrides (namespace_id, id);

  -- The feed becomes the audit log as well: rows with an action stay.
  ALTER TABLE changes
    ADD COLUMN subjects text,
    ADD COLUMN actor ${TEXT},
    ADD COLUMN action ${TEXT},
    ADD COLUMN target ${TEXT},
    ADD COLUMN before_json text,
    ADD COLUMN after_json text,
    ADD COLUMN origin text,
    ADD COLUMN request_id text;
  CREATE INDEX changes_by_actor ON changes (actor, number) WHERE action IS NOT NULL;
  CREATE INDEX changes_by_action ON changes (action, number) WHERE action IS NOT NULL;
  CREATE INDEX changes_by_target ON changes (target, number) WHERE action IS NOT NULL;
  CREATE INDEX changes_by_time ON changes (at_ms);

  -- Verifications by span (0 minute, 1 hour, 2 day); '' stands for no key, no identity, no tags.
  CREATE TABLE key_tallies (
    span bigint NOT NULL, time_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, identity_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    valid bigint NOT NULL, not_found bigint NOT NULL, forbidden bigint NOT NULL, disabled bigint NOT NULL, expired bigint NOT NULL,
    insufficient_permissions bigint NOT NULL, rate_limited bigint NOT NULL, usage_exceeded bigint NOT NULL,
    PRIMARY KEY (key_id, span, time_ms, api_id, identity_id, tags)
  );
  CREATE INDEX key_tallies_of_api ON key_tallies (api_id, span, time_ms);
  CREATE INDEX key_tallies_by_time ON key_tallies (span, time_ms);
  CREATE TABLE api_tallies (
    span bigint NOT NULL, time_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    valid bigint NOT NULL, not_found bigint NOT NULL, forbidden bigint NOT NULL, disabled bigint NOT NULL, expired bigint NOT NULL,
    insufficient_permissions bigint NOT NULL, rate_limited bigint NOT NULL, usage_exceeded bigint NOT NULL,
    PRIMARY KEY (api_id, span, time_ms, tags)
  );
  CREATE INDEX api_tallies_by_time ON api_tallies (span, time_ms);
  CREATE TABLE key_uses (key_id ${TEXT} PRIMARY KEY, last_used_at_ms bigint NOT NULL);

  CREATE TABLE imports (
    id ${TEXT} PRIMARY KEY, api_id ${TEXT} NOT NULL, queued bigint NOT NULL, done bigint NOT NULL, failed bigint NOT NULL
  );
  CREATE TABLE import_batches (
    id ${TEXT} PRIMARY KEY,
    migration_id ${TEXT} NOT NULL,
    api_id ${TEXT} NOT NULL,
    first_place bigint NOT NULL,
    size bigint NOT NULL,
    keys ${TEXT} NOT NULL,
    actor ${TEXT} NOT NULL
  );
  CREATE TABLE import_errors (
    migration_id ${TEXT} NOT NULL, place bigint NOT NULL, message ${TEXT} NOT NULL, PRIMARY KEY (migration_id, place)
  );

  -- The last batch of tallies of each node: one that is sent again is not added again.
  CREATE TABLE tally_marks (node ${TEXT} PRIMARY KEY, batch bigint NOT NULL, at_ms bigint NOT NULL);
  ${FUNCTIONS_V2}
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
