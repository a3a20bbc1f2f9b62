import type { Client } from 'pg';

import { withDeadline, Connector } from './connection/connector.ts';
import { WrongServer } from './connection/wrongServer.ts';
import { isOfFirstRelease, readInstallation, migrate, type MigrateOptions } from './schema/migrate.ts';
import { SCHEMA_VERSION, MIGRATIONS } from './schema/schema.ts';
import { hasTables } from './schema/tableRights.ts';
import {
  type DataSource,
  type DataHeader,
  type DataBatch,
  type DataTarget,
  type FinishedData,
} from '../sql/move/dataFormat.ts';
import { DataError } from '../sql/move/dataError.ts';
import {
  type CounterName,
  COUNTERS,
  type DataRow,
  type DataTable,
  rowsOfSlice,
  DATA_TABLES,
} from '../sql/move/dataTables.ts';
import {
  findUseRefusal,
  IMPORT_NOTE,
  findImported,
  IMPORT_ACTION,
  IMPORTED_NOTE,
  importedNote,
  importEntry,
} from '../sql/move/importedNote.ts';
import { adviceOnOwnRefusal, kindOf, reasonOf, adviceOnRefusal, isStorageError } from './connection/databaseError.ts';
import { beginInOwnSession, requireOwnSessions } from './connection/ownSession.ts';
import { Durability } from './connection/durability.ts';
import { StorageUnavailable } from '../port/storage.ts';
import { parseAddress } from '../../core/databaseUrl.ts';

/** Rows that are read at once. */
const STEP = 2_000;
const CLOSE_WITHIN_MS = 5_000;

const ADVICE = 'Nothing is left of the export. Run the command again.';

/** In the form of SQLite: the newest window of all nodes, with the sum of what they admitted. */
const LOCAL_COUNTS = `SELECT owner, name, duration_ms, sum(count)::bigint AS count, reset_at_ms
  FROM (SELECT *, max(reset_at_ms) OVER (PARTITION BY owner, name, duration_ms) AS newest FROM local_counts) l
  WHERE reset_at_ms = newest GROUP BY owner, name, duration_ms, reset_at_ms ORDER BY owner, name, duration_ms`;

const COUNTER_VALUES = `SELECT
  (SELECT partition FROM idempotency_partition)::bigint AS idempotency_partition,
  (SELECT since_ms FROM idempotency_partition) AS idempotency_since_ms,
  (SELECT sequence FROM event_counter) AS last_event,
  (SELECT CASE WHEN is_called THEN last_value + 1 ELSE last_value END FROM account_numbers) AS next_account`;

/** Reads a shared database in one transaction, which sees what was committed when it began. Nodes can keep running. */
export class PostgresDataSource implements DataSource {
  readonly engine = 'postgres';
  readonly schema = SCHEMA_VERSION;
  readonly installation: string;
  readonly #client: Client;

  private constructor(client: Client, installation: string) {
    this.#client = client;
    this.installation = installation;
  }

  static async open(url: string): Promise<PostgresDataSource> {
    const client = await openForData(url);
    try {
      const known = await orExplain(beginReading(client), ADVICE);
      return new PostgresDataSource(client, known.get('workspace_id') ?? '');
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  async *read(table: DataTable): AsyncGenerator<readonly DataRow[]> {
    if (table === COUNTERS) {
      yield await this.#counters();
      return;
    }
    yield* this.#fetch<DataRow>(select(table));
    if (table.name !== 'verdict_log') return;
    // Counts that are still packed.
    for await (const slices of this.#fetch<{ body: string }>('SELECT body FROM count_slices ORDER BY number'))
      for (const { body } of slices) yield [...rowsOfSlice(body)];
  }

  /** This transaction has only read. So a server that does not answer is left alone, and hides no other failure. */
  async close(withinMs = CLOSE_WITHIN_MS): Promise<void> {
    await withDeadline(this.#client, withinMs, this.#client.end()).catch(() => {});
  }

  async *#fetch<T>(sql: string): AsyncGenerator<readonly T[]> {
    await this.#ask(`DECLARE exported NO SCROLL CURSOR FOR ${sql}`);
    for (;;) {
      const rows = await this.#ask<T>(`FETCH ${STEP} FROM exported`);
      if (rows.length > 0) yield rows;
      if (rows.length < STEP) break;
    }
    await this.#ask('CLOSE exported');
  }

  async #counters(): Promise<DataRow[]> {
    const [row] = await this.#ask<Partial<Record<CounterName, number | null>>>(COUNTER_VALUES);
    const [sequence] = await this.#ask<{ name: string }>(
      "SELECT pg_get_serial_sequence('audit_entries', 'number') AS name",
    );
    const [entries] = await this.#ask<{ last: number }>(
      `SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM ${sequence?.name ?? ''}`,
    );
    const found = { ...row, last_audit_entry: entries?.last ?? 0 };
    return Object.entries(found)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, value]) => (value === null ? [] : [{ name, value }]));
  }

  async #ask<T>(sql: string): Promise<T[]> {
    return (await orExplain(this.#client.query(sql), ADVICE)).rows as T[];
  }
}

async function beginReading(client: Client): Promise<ReadonlyMap<string, string>> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  return readExportable(client);
}

/** The rows of the table `installation`. Refuses a database that this program cannot export. */
export async function readExportable(client: Client): Promise<ReadonlyMap<string, string>> {
  if (!(await hasTables(client))) throw noKeystile();
  const known = await readInstallation(client);
  const version = Number(known.get('schema_version') ?? 0);
  if (version !== SCHEMA_VERSION || !isOfFirstRelease(known))
    throw new DataError(
      `The database has schema version ${version}, and this program exports version ${SCHEMA_VERSION}. Use the program of its nodes.`,
    );
  refuseUnusable(new Map([...known].filter(([name]) => name === IMPORT_NOTE)));
  return known;
}

function select({ name, key, columns }: DataTable): string {
  if (name === 'local_counts') return LOCAL_COUNTS;
  const values = Array.from(columns.keys(), (column) =>
    name.startsWith('idempotency_') && column === 'outcome' ? "trim(both '{}' from outcome) AS outcome" : column,
  );
  return `SELECT ${values.join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`;
}

/** Refuses a database that was moved away or whose import is not finished. */
export function refuseUnusable(known: ReadonlyMap<string, string>): void {
  const refusal = findUseRefusal('The database', known);
  if (refusal !== null) throw new WrongServer(refusal.text);
}

export async function putNote(client: Client, name: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [name, value],
  );
}

export function noKeystile(): DataError {
  return new DataError(
    'The database has no tables of Keystile. Set KEYSTILE_DATABASE_URL to the database of the service.',
  );
}

/** Key of the advisory lock of an import: any number, the same for all imports. */
const IMPORT_LOCK = 7_218_530_416;
const IMPORTING = 'Another import into this database is running. Wait until it ends, or stop it.';
const FILE_ADVICE = 'Run the same import again: it goes on where it stopped.';
const PIPE_ADVICE = 'An export is new each time: drop the database, and begin again.';
/** The node of imported counts of local limits. No real node has this id. */
const IMPORT_NODE = 'import';

export interface TargetOptions {
  readonly allowFsyncOff: boolean;
  /** The export comes through a pipe: it cannot be read again. */
  readonly isPiped: boolean;
}

interface Progress {
  readonly exportId: string;
  readonly lines: number;
  /** The checksum of the rows in these lines. Null: there are none, or an older program has stored them. */
  readonly sha256: string | null;
}

const SET_COUNTER: Readonly<Record<CounterName, string>> = {
  next_account: "SELECT setval('account_numbers', $1, false)",
  last_event: 'UPDATE event_counter SET sequence = $1',
  last_audit_entry: "SELECT setval(pg_get_serial_sequence('audit_entries', 'number'), greatest($1::bigint, 1), $1 > 0)",
  idempotency_partition: 'UPDATE idempotency_partition SET partition = $1',
  idempotency_since_ms: 'UPDATE idempotency_partition SET since_ms = $1',
};

/** Fills an empty database. Each batch is a transaction that also notes the progress, so that the import can be continued. */
export class PostgresDataTarget implements DataTarget {
  readonly stored: DataTarget['stored'];
  readonly #client: Client;
  readonly #exportId: string;

  readonly #advice: string;

  private constructor(client: Client, { exportId, lines: line, sha256 }: Progress, advice: string) {
    this.#client = client;
    this.#advice = advice;
    this.#exportId = exportId;
    this.stored = { line, sha256 };
  }

  static async open(url: string, header: DataHeader, options: TargetOptions): Promise<PostgresDataTarget> {
    const advice = options.isPiped ? PIPE_ADVICE : FILE_ADVICE;
    const client = await openForData(url);
    try {
      const begun = await orExplain(beginWriting(client, header, options), advice, adviceOnOwnRefusal);
      return new PostgresDataTarget(client, begun, advice);
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  async add(batch: DataBatch): Promise<void> {
    await orExplain(this.#inTransaction(batch), this.#advice);
  }

  async finish(finished: FinishedData): Promise<void> {
    await orExplain(this.#finish(finished), this.#advice);
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  async #inTransaction(batch: DataBatch): Promise<void> {
    const { table, rows, lines, lastLine, sha256 } = batch;
    try {
      // A crash of the server takes rows and progress back together. The last commit of the import flushes all of them.
      await beginInOwnSession(this.#client, 'BEGIN; SET LOCAL synchronous_commit = off');
      if (table === COUNTERS) await this.#setCounters(rows);
      else await this.#client.query(insertOf(table), [JSON.stringify(rows.map((row) => stored(table, row)))]);
      await putNote(this.#client, IMPORT_NOTE, progressOf({ exportId: this.#exportId, lines: lastLine, sha256 }));
      await this.#client.query('COMMIT');
    } catch (error) {
      await this.#client.query('ROLLBACK').catch(() => {});
      if (kindOf(error) !== 'refused') throw error;
      throw new DataError(
        `The file cannot be imported: a row of ${table.name} in the lines ${lines[0]} to ${lastLine} is refused (${reasonOf(error)}). Export the data again, and import it into another database.`,
      );
    }
  }

  async #setCounters(rows: readonly DataRow[]): Promise<void> {
    for (const { name, value } of rows) {
      await this.#client.query(SET_COUNTER[name as CounterName], [value]);
    }
  }

  async #finish(finished: FinishedData): Promise<void> {
    const { header, rows: counted, importedAtMs } = finished;
    const client = this.#client;
    await beginInOwnSession(client, 'BEGIN');
    for (const { name } of DATA_TABLES.filter((table) => table !== COUNTERS)) {
      const { rows } = await client.query<{ count: number }>(`SELECT count(*) AS count FROM ${name}`);
      const expected = counted.get(name) ?? 0;
      if (rows[0]?.count !== expected)
        throw new DataError(
          `The database has ${rows[0]?.count} rows of ${name}, and the file has ${expected}: something else wrote into it. Drop the database, and import into a new one.`,
        );
    }
    await putNote(client, 'workspace_id', header.installation);
    await putNote(client, IMPORTED_NOTE, importedNote(finished));
    await client.query('DELETE FROM installation WHERE name = $1', [IMPORT_NOTE]);
    await client.query(
      'INSERT INTO audit_entries (at_ms, actor, action, target, after_json) VALUES ($1, $2, $3, $4, $5)',
      [importedAtMs, 'cli', IMPORT_ACTION, header.installation, importEntry(finished)],
    );
    await client.query('COMMIT');
    // Updates the statistics, so that the server plans the first requests for these tables.
    await client.query('ANALYZE').catch(() => {});
  }
}

function progressOf(progress: Progress): string {
  return JSON.stringify(progress);
}

async function beginWriting(
  client: Client,
  header: DataHeader,
  { allowFsyncOff, isPiped }: TargetOptions,
): Promise<Progress> {
  await new Durability(allowFsyncOff).refuseUnsafe(client);
  await takeSessionLock(client, IMPORT_LOCK, IMPORTING);
  const known = await prepareTarget(client, { migrations: MIGRATIONS, newWorkspaceId: () => header.installation });
  const note = known.get(IMPORT_NOTE);
  if (note !== undefined) {
    const progress = JSON.parse(note) as Progress;
    if (progress.exportId === header.exportId) return progress;
    throw new DataError(
      `The import of another export (${progress.exportId}) into this database is not finished. ` +
        (isPiped ? PIPE_ADVICE : 'Finish it with the file of that export, or drop the database.'),
    );
  }
  // The answer to the last commit may have been lost.
  const imported = findImported('The database', known, header.exportId);
  if (imported !== null) throw new DataError(imported);
  await refuseFilled(client);
  const progress = { exportId: header.exportId, lines: 0, sha256: null };
  await putNote(client, IMPORT_NOTE, progressOf(progress));
  return progress;
}

/**
 * Makes the tables of an empty database. Older tables are in use, and only a service migrates them. Tables of an unfinished import are not
 * in use, and a service refuses them, so they are migrated here.
 */
export async function prepareTarget(
  client: Client,
  options: Pick<MigrateOptions, 'migrations' | 'newWorkspaceId'>,
): Promise<ReadonlyMap<string, string>> {
  const isUnfinished = (await hasTables(client)) && (await readInstallation(client)).has(IMPORT_NOTE);
  await migrate(client, { ...options, upgrades: isUnfinished });
  return readInstallation(client);
}

async function refuseFilled(client: Client): Promise<void> {
  for (const { name } of DATA_TABLES.filter((table) => table !== COUNTERS)) {
    const { rows } = await client.query<{ has: boolean }>(`SELECT EXISTS (SELECT 1 FROM ${name}) AS has`);
    if (rows[0]?.has === true)
      throw new DataError(
        `The database is not empty: it has rows in ${name}. Import into a new database, in which no service has run.`,
      );
  }
}

/** The rows are one parameter: see connection/binaryLists.ts. */
function insertOf(table: DataTable): string {
  const columns = [...table.columns.keys(), ...(table.name === 'local_counts' ? ['node'] : [])].join(', ');
  return `INSERT INTO ${table.name} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${table.name}, $1::json)`;
}

/** A row as this engine stores it. */
function stored(table: DataTable, row: DataRow): DataRow {
  if (table.name === 'local_counts') return { ...row, node: IMPORT_NODE };
  return table.name.startsWith('idempotency_') ? { ...row, outcome: `{${String(row['outcome'])}}` } : row;
}

/** Sorting or counting a large table takes long. A reader of the export may be slow, and the transaction waits for it. */
const SETTINGS = {
  statement_timeout: '3600000',
  idle_in_transaction_session_timeout: '0',
};

/** A command that was killed keeps its lock until the server notices. */
const LOCK_WITHIN_MS = 2_000;

export async function openForData(url: string): Promise<Client> {
  const connector = new Connector(parseAddress(url), 'data');
  const client = await connector.connect(SETTINGS);
  // Set later than the others: a server that is too old does not know it, and would refuse the connection before it reports its version.
  try {
    await orExplain(
      requireOwnSessions(client, () => connector.connect({})),
      'Run the command again.',
    );
    await orExplain(client.query('SET idle_session_timeout = 0'), 'Run the command again.');
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** Takes an advisory lock for as long as the connection is open. `refusal` says who else has it. */
export async function takeSessionLock(client: Client, key: number, refusal: string): Promise<void> {
  try {
    await client.query(`SET lock_timeout = ${LOCK_WITHIN_MS}`);
    await client.query('SELECT pg_advisory_lock($1)', [key]);
    await client.query('SET lock_timeout = 0');
  } catch (error) {
    if (kindOf(error) !== 'busy') throw error;
    throw new DataError(refusal);
  }
}

/** Failures of the database in one sentence, with what to do: `advice`, unless every try would end the same. */
export async function orExplain<T>(work: Promise<T>, advice: string, refusalOf = adviceOnRefusal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isStorageError(error) || error instanceof DataError || error instanceof WrongServer) throw error;
    const refusal = refusalOf(error);
    if (refusal !== null) throw new WrongServer(`The database refused (${reasonOf(error)}). ${refusal}`);
    const lost = kindOf(error) === 'lost' ? 'The connection to the database was lost' : 'The database refused';
    throw new StorageUnavailable(`${lost} (${reasonOf(error)}). ${advice}`);
  }
}
