import type { Client } from 'pg';

import { withDeadline } from '../connection/connector.ts';
import { WrongServer } from '../connection/wrongServer.ts';
import { openForData, orExplain } from './openForData.ts';
import { isOfFirstRelease, readInstallation } from '../schema/migrate.ts';
import { SCHEMA_VERSION } from '../schema/schema.ts';
import { hasTables } from '../schema/tableRights.ts';
import { DataError } from '../../sql/move/dataError.ts';
import type { DataSource } from '../../sql/move/dataPorts.ts';
import { type CounterName, COUNTERS, type DataRow, type DataTable } from '../../sql/move/dataTables.ts';
import { findUseRefusal, IMPORT_NOTE } from '../../sql/move/importedNote.ts';
import { rowsOfSlice } from '../../sql/move/sliceRows.ts';

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
      const known = await orExplain(begin(client), ADVICE);
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

async function begin(client: Client): Promise<ReadonlyMap<string, string>> {
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
