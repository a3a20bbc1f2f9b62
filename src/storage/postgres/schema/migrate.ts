import type { Client } from 'pg';

import { GONE_AFTER_MS } from '../../../core/health.ts';
import type { Tell } from '../../port/events.ts';
import { StorageUnavailable } from '../../port/storage.ts';
import { adviceOnOwnRefusal, hasOtherColumns, kindOf, reasonOf, stateOf } from '../connection/databaseError.ts';
import { beginInOwnSession } from '../connection/ownSession.ts';
import { WrongServer } from '../connection/wrongServer.ts';
import type { SchemaVersions } from '../freshness/nodes.ts';
import { hasTables } from './tableRights.ts';
import { TEXT } from './tables.ts';

export interface Migration {
  readonly sql: string;
  /** Copies rows to their new tables, however many there are. `sqlAfter` drops the former tables. */
  readonly moveRows?: {
    readonly copy: (client: Client, progress: CopyProgress) => Promise<void>;
    readonly sqlAfter: string;
  };
  /** Adds columns to tables of records, and runs last. */
  readonly columns?: string;
  /**
   * Indexes on tables with many rows. They are built in a second transaction, because that takes longer the more rows there are. Until it
   * ends, these tables cannot be written. The changelog names them.
   */
  readonly indexes: string;
  /** The oldest program that can work with the new schema, as the schema version that the program was made for. */
  readonly compatibleFrom: number;
}

/** Copying takes longer the more rows there are, so it reports its progress. */
export interface CopyProgress {
  readonly tell: Tell;
  /** Call this after each statement: the time limit of the migration begins again. */
  readonly goesOn: () => void;
}

/** Key of the advisory lock of a migrating node: any number, the same for all nodes of all versions. */
const MIGRATION_LOCK = 7_218_530_411;

/** A row of `installation` that databases of programs before the first release lack: they used the same version numbers for other tables. */
const SERIES = { name: 'schema_series', value: '0.1-h' } as const;

/** While a migration waits for a lock, all requests queue behind it. So it gives up after this time and tries again. */
interface Patience {
  /** Shorter than the time after which the database looks for a deadlock. */
  readonly lockTimeoutMs: number;
  readonly tries: number;
  /** The same after rows were copied: giving up would throw the copy away. */
  readonly triesAfterCopy?: number;
  readonly pauseMs: number;
}

const PATIENCE: Patience = { lockTimeoutMs: 500, tries: 20, pauseMs: 1_500 };
const TRIES_AFTER_COPY = 300;

export interface MigrateOptions {
  /** All migrations of this program. Their number is its schema version. */
  readonly migrations: readonly Migration[];
  readonly newWorkspaceId: () => string;
  /**
   * Whether an older schema is migrated to the version of this program. Otherwise it is refused, and missing indexes are left to a program
   * that may build them.
   */
  readonly upgrades: boolean;
  /** Refuses a database without tables, instead of making them. */
  readonly requiresData?: boolean;
  readonly patience?: Patience;
  /** Rejects if the work takes too long without reporting progress. */
  readonly inTime?: (work: (goesOn: () => void) => Promise<void>) => Promise<void>;
  readonly tell?: Tell;
  /** Registers the starting node in the same transaction, so that a later migration knows of it. Null: this is not a node that serves. */
  readonly register?: ((client: Client) => Promise<void>) | null;
}

/** Migrates the database to the version of this program, or leaves a newer version that the program can work with. */
export async function migrate(client: Client, options: MigrateOptions): Promise<void> {
  const progress: Progress = { stage: 'schema', goesOn: () => {} };
  const { inTime = (work) => work(() => {}) } = options;
  try {
    await inTime((goesOn) => tryToMigrate(client, options, Object.assign(progress, { goesOn })));
  } catch (error) {
    throw progress.stage === 'schema' ? error : notBuilt(error, options.migrations.length);
  }
}

interface Progress {
  stage: Stage;
  goesOn: () => void;
}

async function tryToMigrate(client: Client, options: MigrateOptions, progress: Progress): Promise<void> {
  if ((await hasTables(client)) && !options.upgrades && (await hasUsableSchema(client, options))) return;
  const { tries, lockTimeoutMs, pauseMs } = options.patience ?? PATIENCE;
  const tell = options.tell ?? (() => {});
  for (let made = 1; ; made++) {
    try {
      return await migrateOnce(client, { ...options, progress, lockTimeoutMs });
    } catch (error) {
      if (!isWorthAnotherTry(error)) throw error;
      if (made >= tries) {
        throw neverUnlocked(progress.stage, options.migrations.length, `${tries} tries of ${lockTimeoutMs} ms`);
      }
      tell(stillLocked(progress.stage), { try: `${made} of ${tries}`, againInMs: pauseMs });
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Checks without the lock: a program that may not migrate does not wait for a node that builds indexes, and builds none. */
async function hasUsableSchema(client: Client, options: MigrateOptions): Promise<boolean> {
  return usableVersion(await readInstallation(client), options) > 0;
}

/**
 * One transaction for the schema and the rows that it moves, one for the indexes. While indexes are built, everything can be read, but
 * their tables cannot be written.
 */
async function migrateOnce(
  client: Client,
  options: MigrateOptions & { readonly progress: Progress; readonly lockTimeoutMs: number },
): Promise<void> {
  const { migrations, register, tell = () => {}, progress, lockTimeoutMs } = options;
  const own = migrations.length;
  await inMigrationTransaction(client, lockTimeoutMs, async (known) => {
    const version = usableVersion(known, options);
    if (version === 0 && options.requiresData === true) throw withoutData();
    if (version < own) await bringTo(client, version, { ...options, progress });
    if (version === 0) await put(client, SERIES.name, SERIES.value);
    if (!known.has('workspace_id')) await put(client, 'workspace_id', options.newWorkspaceId());
    if (register === null || register === undefined) return;
    // The list of nodes waits for no standby, so a node can start while the standby is away.
    if (version >= own) await client.query('SET LOCAL synchronous_commit = local');
    await register(client);
  });
  await inMigrationTransaction(client, lockTimeoutMs, async (known) => {
    const version = Number(known.get('indexes_version') ?? 0);
    const missing = migrations.slice(version).filter(({ indexes }) => indexes !== '');
    if (missing.length > 0) progress.stage = 'indexes';
    if (version > 0 && missing.length > 0) tell('building the indexes of the new schema version', { version: own });
    for (const { indexes } of missing) await client.query(indexes);
    if (version < own) await put(client, 'indexes_version', String(own));
    if (version > 0 && version < own) tell('the database is migrated', { version: own });
  });
}

async function bringTo(
  client: Client,
  version: number,
  options: MigrateOptions & { readonly progress: Progress },
): Promise<void> {
  const { migrations, tell = () => {}, patience = PATIENCE } = options;
  const { goesOn } = options.progress;
  const own = migrations.length;
  const missing = migrations.slice(version);
  const compatibleFrom = Math.max(...missing.map((migration) => migration.compatibleFrom));
  if (version > 0) await refuseWhileOlderRun(client, { version: own, compatibleFrom }, version);
  for (const [i, migration] of missing.entries()) {
    const step = { step: `${i + 1} of ${missing.length}`, from: version + i, to: version + i + 1 };
    if (version > 0) tell('migrating the database; a failure leaves it as it is', step);
    await run(client, migration, { tell, goesOn, patience, own }).catch((error: unknown) => {
      const isStorageError = version === 0 || isWorthAnotherTry(error) || error instanceof StorageUnavailable;
      throw isStorageError ? error : notMigrated(error, version, own);
    });
  }
  await put(client, 'schema_version', String(own));
  await put(client, 'schema_compatible_from', String(compatibleFrom));
}

interface RunProgress extends CopyProgress {
  readonly patience: Patience;
  readonly own: number;
}

async function run(client: Client, { sql, moveRows, columns }: Migration, progress: RunProgress): Promise<void> {
  await client.query(sql);
  if (moveRows !== undefined) {
    // An obstacle to the last step, such as a user's view on a table that is dropped, is reported before the work begins.
    await client.query('SAVEPOINT tried');
    await client.query(moveRows.sqlAfter);
    await client.query('ROLLBACK TO SAVEPOINT tried');
    await moveRows.copy(client, progress);
    await whenUnlocked(client, moveRows.sqlAfter, progress);
  }
  if (columns !== undefined) await client.query(columns);
}

/** The copied rows are not given up as soon as somebody reads a table. */
async function whenUnlocked(client: Client, sql: string, { tell, patience, own }: RunProgress): Promise<void> {
  const { pauseMs, lockTimeoutMs, triesAfterCopy: tries = TRIES_AFTER_COPY } = patience;
  for (let made = 1; ; made++) {
    await client.query('SAVEPOINT copied');
    try {
      await client.query(sql);
      return;
    } catch (error) {
      if (!isWorthAnotherTry(error)) throw error;
      if (made >= tries) throw neverUnlocked('schema', own, `${tries} tries of ${lockTimeoutMs} ms`);
      await client.query('ROLLBACK TO SAVEPOINT copied');
      tell(stillLocked('schema'), { try: `${made} of ${tries}`, againInMs: pauseMs });
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Running nodes must never meet a schema that their program cannot work with. */
async function refuseWhileOlderRun(client: Client, next: SchemaVersions, version: number): Promise<void> {
  const { rows } = await client.query<{ id: string; location: string; version: string }>(
    `SELECT id, location, version FROM nodes WHERE schema_version < $1 AND seen_at_ms > ledger_now_v1(NULL) - $2
      ORDER BY location, id`,
    [next.compatibleFrom, GONE_AFTER_MS],
  );
  if (rows.length === 0) return;
  const named = rows.map((node) => `${node.location} (${node.id}, version ${node.version})`);
  throw new WrongServer(
    `The database cannot be migrated from schema version ${version} to ${next.version} while nodes of an older version run: ` +
      `${named.join(', ')}. Stop them, then start this one. A node that was killed counts as running for ${GONE_AFTER_MS / 1000} s.`,
  );
}

/** Until the transaction ends, no other node starts or migrates. */
export async function takeMigrationLock(client: Client): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
}

/** One transaction at a time among all nodes that start. */
async function inMigrationTransaction(
  client: Client,
  lockTimeoutMs: number,
  work: (known: ReadonlyMap<string, string>) => Promise<void>,
): Promise<void> {
  // Set regardless of the default of the database: this node must see what another node has made while this one waited.
  await beginInOwnSession(client, 'BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    // Waits for another node that migrates: only starting nodes queue behind this lock.
    await takeMigrationLock(client);
    await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    await client.query(`CREATE TABLE IF NOT EXISTS installation (name ${TEXT} PRIMARY KEY, value ${TEXT} NOT NULL)`);
    await work(await readInstallation(client));
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Whether a database that has a version was made by the first release or a later program. */
export function isOfFirstRelease(known: ReadonlyMap<string, string>): boolean {
  return known.get(SERIES.name) === SERIES.value;
}

function beforeFirstRelease(): WrongServer {
  return new WrongServer(
    'The database was written by a program before 0.1.0, and this program cannot read it. Nothing was changed. ' +
      'Set KEYSTILE_DATABASE_URL to another database, and create or import the keys again.',
  );
}

function withoutData(): WrongServer {
  return new WrongServer(
    'The database is empty, and KEYSTILE_REQUIRE_DATA is on: no new installation is begun. ' +
      'Check KEYSTILE_DATABASE_URL. For a first start, turn KEYSTILE_REQUIRE_DATA off.',
  );
}

/** Why a program for schema version `own` cannot work with such a database; null = it can. */
export function tooOldFor({ version, compatibleFrom }: SchemaVersions, own: number): WrongServer | null {
  if (version <= own || compatibleFrom <= own) return null;
  return new WrongServer(
    `The database has schema version ${version}, which needs a program for version ${compatibleFrom} or newer; this one is for ${own}. ` +
      'Start the newer program that migrated it.',
  );
}

/** The version of the schema, 0 = there is none yet. Throws when this program must not use it. */
function usableVersion(known: ReadonlyMap<string, string>, { migrations, upgrades }: MigrateOptions): number {
  const own = migrations.length;
  const version = Number(known.get('schema_version') ?? 0);
  if (version > 0 && !isOfFirstRelease(known)) throw beforeFirstRelease();
  const tooOld = tooOldFor({ version, compatibleFrom: Number(known.get('schema_compatible_from') ?? 0) }, own);
  if (tooOld !== null) throw tooOld;
  if (version > 0 && version < own && !upgrades) {
    throw new WrongServer(
      `The database has schema version ${version}, and this program is for ${own}. Start keystile serve, which migrates it.`,
    );
  }
  return version;
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

/** The stage of a migration. From the stage of the indexes on, the new schema is committed, and a failure leaves it there. */
type Stage = 'schema' | 'indexes';

/** SQLSTATEs: not supported, another object depends on it, no schema, wrong or not allowed, raised by a function. */
const REFUSED_STATEMENT = /^(?:0A|2B|3F|42|P0)/;
/** Any failure inside the server, such as two sessions that alter the same object. Damage has its own states. */
const INTERNAL_ERROR = 'XX000';

/** What can keep tables locked. A dump only reads, so indexes can be built beside it. */
const HOLDERS: Readonly<Record<Stage, string>> = {
  schema: 'another transaction, such as a dump,',
  indexes: 'another transaction',
};

function isWorthAnotherTry(error: unknown): boolean {
  const kind = kindOf(error);
  return kind === 'busy' || (kind === 'rolled back' && !hasOtherColumns(error));
}

/** For the log: the migration is tried again. */
function stillLocked(stage: Stage): string {
  const what = stage === 'schema' ? 'the database is not migrated yet' : 'the indexes are not built yet';
  return `${what}: ${HOLDERS[stage]} keeps its tables locked`;
}

function neverUnlocked(stage: Stage, version: number, tries: string): StorageUnavailable {
  const what = stage === 'schema' ? 'The schema of the database cannot be upgraded' : unbuilt(version);
  return new StorageUnavailable(
    `${what}: ${HOLDERS[stage]} kept its tables locked during ${tries}. Start again when it has ended.`,
  );
}

/** A start has failed outside the migration of a known schema. */
export function notPrepared(error: unknown): Error {
  const advice = adviceOnOwnRefusal(error);
  return failed(error, `The database cannot be prepared (${reasonOf(error)}).${advice === null ? '' : ` ${advice}`}`);
}

function notMigrated(error: unknown, from: number, to: number): Error {
  return failed(
    error,
    `The database could not be migrated from schema version ${from} to ${to} (${reasonOf(error)}). ` +
      'It is unchanged, and nodes of the older version continue.',
  );
}

function notBuilt(error: unknown, version: number): Error {
  const next = isFinal(error) ? 'Correct that, then start again.' : 'Start again: a start builds what is missing.';
  return failed(error, `${unbuilt(version)} (${reasonOf(error)}). ${next}`);
}

function unbuilt(version: number): string {
  return `The schema of the database is migrated to version ${version}, and its indexes are not built`;
}

function failed(error: unknown, message: string): Error {
  if (error instanceof WrongServer || error instanceof StorageUnavailable) return error;
  return isFinal(error) ? new WrongServer(message) : new StorageUnavailable(message);
}

/**
 * What the database refused would be refused again at every start, and each try would lock its tables. Any other failure may go away by
 * itself.
 */
function isFinal(error: unknown): boolean {
  const state = stateOf(error) ?? '';
  return REFUSED_STATEMENT.test(state) || (kindOf(error) === 'refused' && state !== INTERNAL_ERROR);
}
