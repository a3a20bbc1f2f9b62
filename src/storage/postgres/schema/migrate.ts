import type { Client } from 'pg';

import { StorageUnavailable } from '../../port/storage.ts';
import { WrongServer } from '../connection/wrongServer.ts';
import { kindOf } from '../connection/databaseError.ts';
import { TEXT } from './textType.ts';

export interface Migration {
  readonly sql: string;
  /** Indexes on tables with many rows: built in a second transaction, because that takes as long as there are rows. */
  readonly indexes: string;
  /** The oldest program that can work with the schema after it, by the schema version that program was made for. */
  readonly compatibleFrom: number;
}

/** Key of the advisory lock of a migrating node: any number, the same for all nodes of all versions. */
const MIGRATION_LOCK = 7_218_530_411;

/** A row of `installation` that databases of programs before 0.1.0 lack: they used the same version numbers for other tables. */
const SERIES = { name: 'schema_series', value: '0.1-g' } as const;

/** While a migration waits for a lock, all requests queue behind it: it gives up and tries again. */
export interface Patience {
  /** Shorter than it takes the database to look for a deadlock. */
  readonly lockTimeoutMs: number;
  readonly tries: number;
  readonly pauseMs: number;
}

const PATIENCE: Patience = { lockTimeoutMs: 500, tries: 20, pauseMs: 1_500 };

export interface MigrateOptions {
  /** All migrations of this program. Their number is its schema version. */
  readonly migrations: readonly Migration[];
  readonly newWorkspaceId: () => string;
  /** Whether an older schema is migrated to the version of this program. Otherwise it is refused. */
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
      if (kind !== 'busy' && kind !== 'rolled back') throw error;
      if (made >= tries) {
        throw new StorageUnavailable(
          `The schema of the database cannot be upgraded: another transaction, such as a dump, kept its tables locked during ${tries} tries of ${lockTimeoutMs} ms. Start again when it has ended.`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** One transaction for what is quick, one for the indexes: while those are built everything can be read. */
async function migrateOnce(client: Client, options: MigrateOptions, lockTimeoutMs: number): Promise<void> {
  const { migrations } = options;
  await inMigrationTransaction(client, lockTimeoutMs, async (known) => {
    const version = Number(known.get('schema_version') ?? 0);
    if (version > 0 && !isOfFirstRelease(known)) throw beforeFirstRelease();
    refuseOthers(version, Number(known.get('schema_compatible_from') ?? 0), options);
    for (const { sql } of migrations.slice(version)) await client.query(sql);
    if (version < migrations.length) {
      await put(client, 'schema_version', String(migrations.length));
      await put(client, 'schema_compatible_from', String(migrations.at(-1)?.compatibleFrom ?? 0));
    }
    if (version === 0) await put(client, SERIES.name, SERIES.value);
    if (!known.has('workspace_id')) await put(client, 'workspace_id', options.newWorkspaceId());
  });
  await inMigrationTransaction(client, lockTimeoutMs, async (known) => {
    const version = Number(known.get('indexes_version') ?? 0);
    for (const { indexes } of migrations.slice(version)) if (indexes !== '') await client.query(indexes);
    if (version < migrations.length) await put(client, 'indexes_version', String(migrations.length));
  });
}

/** One transaction at a time among all nodes that start. */
async function inMigrationTransaction(
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

/** Whether a database that has a version was made by 0.1.0 or a later program. */
export function isOfFirstRelease(known: ReadonlyMap<string, string>): boolean {
  return known.get(SERIES.name) === SERIES.value;
}

function beforeFirstRelease(): WrongServer {
  return new WrongServer(
    'The database was written by a program before 0.1.0, and this program cannot read it. Nothing was changed. ' +
      'Set KEYSTILE_DATABASE_URL to another database, and create or import the keys again.',
  );
}

function refuseOthers(version: number, compatibleFrom: number, { migrations, upgrades }: MigrateOptions): void {
  const own = migrations.length;
  if (version > own && compatibleFrom > own) {
    throw new WrongServer(
      `The database has schema version ${version}, which needs a program for version ${compatibleFrom} or newer; this one is for ${own}.`,
    );
  }
  if (version > 0 && version < own && !upgrades) {
    throw new WrongServer(
      `The database has schema version ${version}, and this program is for ${own}. Start keystile serve, which brings it there.`,
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
