import type { Client } from 'pg';

import { DataError } from '../../sql/move/dataError.ts';
import type { DataHeader } from '../../sql/move/dataFormat.ts';
import type { DataBatch, DataTarget, FinishedData } from '../../sql/move/dataPorts.ts';
import { COUNTERS, type CounterName, DATA_TABLES, type DataRow, type DataTable } from '../../sql/move/dataTables.ts';
import {
  findImported,
  IMPORT_ACTION,
  IMPORT_NOTE,
  IMPORTED_NOTE,
  importedNote,
  importEntry,
} from '../../sql/move/importedNote.ts';
import { adviceOnOwnRefusal, kindOf, reasonOf } from '../connection/databaseError.ts';
import { beginInOwnSession } from '../connection/ownSession.ts';
import { Durability } from '../connection/durability.ts';
import { migrate, type MigrateOptions, readInstallation } from '../schema/migrate.ts';
import { MIGRATIONS } from '../schema/schema.ts';
import { hasTables } from '../schema/tableRights.ts';
import { putNote } from './readData.ts';
import { openForData, orExplain, takeSessionLock } from './openForData.ts';

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
      const begun = await orExplain(begin(client, header, options), advice, adviceOnOwnRefusal);
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

async function begin(client: Client, header: DataHeader, { allowFsyncOff, isPiped }: TargetOptions): Promise<Progress> {
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
