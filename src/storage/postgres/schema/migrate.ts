import type { Client } from 'pg';

import { StorageUnavailable } from '../../port/storage.ts';
import { WrongServer } from '../connection/connector.ts';
import { kindOf } from '../connection/databaseError.ts';
import { WORDS_FILLED_TO } from './fillWords.ts';
import { SCHEMA_V1 } from './schemaV1.ts';
import { INDEXES_V2, SCHEMA_V2 } from './schemaV2.ts';
import { INDEXES_V3, SCHEMA_V3 } from './schemaV3.ts';
import { INDEXES_V4, SCHEMA_V4 } from './schemaV4.ts';
import { TEXT } from './textType.ts';

interface Migration {
  readonly sql: string;
  /** What follows in a second transaction, because it takes as long as there are rows. */
  readonly indexes: string;
  /** The oldest program that can work with the schema after it, by the schema version that program was made for. */
  readonly compatibleFrom: number;
}

/**
 * Forward migrations: entry N brings version N to N + 1. An entry that was released is never edited. A program of the version
 * before goes on working on the new schema, so that nodes can be replaced one by one: columns are added with a default,
 * functions get a new name, and what is not used any more is removed one version later.
 */
export const MIGRATIONS: readonly Migration[] = [
  { compatibleFrom: 1, sql: SCHEMA_V1, indexes: '' },
  { compatibleFrom: 1, sql: SCHEMA_V2, indexes: INDEXES_V2 },
  { compatibleFrom: 1, sql: SCHEMA_V3, indexes: INDEXES_V3 },
  { compatibleFrom: 4, sql: SCHEMA_V4, indexes: INDEXES_V4 },
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Any number, the same for all nodes of all versions: who holds it migrates. */
const MIGRATION_LOCK = 7_218_530_411;

/** The version after which there is an index of words, which the keys until then have to be put into: see fillWords.ts. */
const WORDS_SINCE = 1;

/** What stands in the way of a migration must not keep it in the way of everyone else: it gives up its place and tries again. */
export interface Patience {
  /** All requests queue behind a migration that waits for a lock. Shorter than it takes the database to look for a deadlock. */
  readonly lockTimeoutMs: number;
  readonly tries: number;
  readonly pauseMs: number;
}

const PATIENCE: Patience = { lockTimeoutMs: 500, tries: 20, pauseMs: 1_500 };

export interface MigrateOptions {
  readonly newWorkspaceId: () => string;
  /** May bring an older schema to the version of this program; otherwise it is refused. */
  readonly upgrades: boolean;
  readonly patience?: Patience;
}

/** Brings the database to the version of this program, or leaves a newer one that it can work with. */
export async function migrate(client: Client, options: MigrateOptions): Promise<void> {
  const { tries, lockTimeoutMs, pauseMs } = options.patience ?? PATIENCE;
  for (let made = 1; ; made++) {
    try {
      return await migrateOnce(client, options, lockTimeoutMs);
    } catch (error) {
      const kind = kindOf(error);
      if (kind !== 'busy' && kind !== 'again') throw error;
      if (made >= tries) {
        throw new StorageUnavailable(
          `The schema of the database cannot be upgraded: another transaction (a dump?) held its tables in ${tries} tries of ${lockTimeoutMs} ms. Start again when it has ended.`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** One transaction for what is quick, one for the indexes: while those are built everything can be read. */
async function migrateOnce(client: Client, options: MigrateOptions, lockTimeoutMs: number): Promise<void> {
  await alone(client, lockTimeoutMs, async (known) => {
    const version = Number(known.get('schema_version') ?? 0);
    refuseOthers(version, Number(known.get('schema_compatible_from') ?? 0), options.upgrades);
    for (const { sql } of MIGRATIONS.slice(version)) await client.query(sql);
    if (version === WORDS_SINCE) await put(client, WORDS_FILLED_TO, '');
    if (version < SCHEMA_VERSION) {
      await put(client, 'schema_version', String(SCHEMA_VERSION));
      await put(client, 'schema_compatible_from', String(MIGRATIONS.at(-1)?.compatibleFrom ?? 0));
    }
    if (!known.has('workspace_id')) await put(client, 'workspace_id', options.newWorkspaceId());
  });
  await alone(client, lockTimeoutMs, async (known) => {
    const version = Number(known.get('indexes_version') ?? 1);
    for (const { indexes } of MIGRATIONS.slice(version)) await client.query(indexes);
    if (version < SCHEMA_VERSION) await put(client, 'indexes_version', String(SCHEMA_VERSION));
  });
}

/** A transaction that no other node that starts is in at the same time. */
async function alone(
  client: Client,
  lockTimeoutMs: number,
  work: (known: ReadonlyMap<string, string>) => Promise<void>,
): Promise<void> {
  // Whatever the default of the database is: what another node has made while this one waited must be seen.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    // Another node that migrates is waited for: nobody queues behind this lock but nodes that start.
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    await client.query(`CREATE TABLE IF NOT EXISTS installation (name ${TEXT} PRIMARY KEY, value ${TEXT} NOT NULL)`);
    await work(await readInstallation(client));
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

function refuseOthers(version: number, compatibleFrom: number, upgrades: boolean): void {
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
