import { DataError } from '../../storage/sql/move/dataError.ts';
import {
  atLine,
  type DataHeader,
  type DataTrailer,
  type ReadRows,
  readRows,
  torn,
} from '../../storage/sql/move/dataFormat.ts';
import type { DataTarget } from '../../storage/sql/move/dataPorts.ts';
import {
  COUNTERS,
  type CounterName,
  type DataRow,
  type DataTable,
  TABLE_NAMES,
} from '../../storage/sql/move/dataTables.ts';
import type { DataProgress } from './dataProgress.ts';
import type { DataReader } from './dataReader.ts';

/** What is stored at once. */
const BATCH_ROWS = 5_000;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

const NEXT_ACCOUNT: CounterName = 'next_account';

export interface ReadOptions {
  readonly name: string;
  readonly header: DataHeader;
  readonly nowMs: () => number;
  readonly progress: DataProgress;
  /** Throws when the signature is not as it is demanded. What was read before from a pipe is then of no use: the target is not finished. */
  readonly prove: (trailer: DataTrailer) => void;
}

/** Brings all rows of an export into a target, and finishes it. Lines that the target has already are only counted. */
export async function readImport(reader: DataReader, target: DataTarget, options: ReadOptions): Promise<DataTrailer> {
  const { name, header, progress, nowMs, prove } = options;
  const order = new TableOrder(name, header.tables);
  // Rows that are stored are not read again. So those that another file has brought would pass as rows of this one, which is proved.
  const hasher = new Bun.CryptoHasher('sha256');
  const batch = new Batch(target, hasher);
  let hasNextAccount = false;
  for (;;) {
    const line = await reader.next();
    if (typeof line !== 'string') {
      await batch.store();
      order.compare(line);
      prove(line);
      if (!hasNextAccount) throw withoutNextAccount(name);
      await target.finish({ header, trailer: line, rows: order.stored, importedAtMs: nowMs() });
      return line;
    }
    const { stored } = target;
    if (reader.line <= stored.line) {
      order.count(nameIn(line), reader.line, () => rowsIn(name, line, reader.line));
      hasNextAccount ||= nameIn(line) === COUNTERS.name && line.includes(`"${NEXT_ACCOUNT}"`);
      hasher.update(line);
      if (reader.line === stored.line && hasher.copy().digest('hex') !== stored.sha256) throw otherRows(name);
      continue;
    }
    const read = rowsIn(name, line, reader.line);
    order.count(read.from, reader.line, () => read);
    hasNextAccount ||= read.table === COUNTERS && read.rows[0]?.['name'] === NEXT_ACCOUNT;
    if (!batch.takes(read.table)) {
      await batch.store();
      progress.show({ rows: order.total, table: read.table.name, bytes: reader.bytes });
    }
    batch.add(read.table, read.rows, { number: reader.line, text: line });
  }
}

function otherRows(name: string): DataError {
  return new DataError(
    `The database has rows of another file with the number of this export: ${name} was changed since an import of it was stopped, or that file was. Drop the database, and begin again.`,
  );
}

/** Without it, a new account would get the number of another one. */
function withoutNextAccount(name: string): DataError {
  return new DataError(`${name} cannot be imported: it lacks the counter ${NEXT_ACCOUNT}. Export the data again.`);
}

function rowsIn(name: string, line: string, number: number): ReadRows {
  const read = readRows(line);
  if (typeof read === 'string') throw atLine(name, number, read);
  return read;
}

/** The table of a row that was read before. */
function nameIn(line: string): string {
  return line.slice(2, line.indexOf('"', 2));
}

/** Rows of one table that are stored together. */
class Batch {
  readonly #target: DataTarget;
  #table: DataTable | null = null;
  #rows: DataRow[] = [];
  #lines: number[] = [];
  #characters = 0;
  #lastLine = 0;
  readonly #hasher: Bun.CryptoHasher;

  constructor(target: DataTarget, hasher: Bun.CryptoHasher) {
    this.#target = target;
    this.#hasher = hasher;
  }

  takes(table: DataTable): boolean {
    if (this.#table !== null && this.#table !== table) return false;
    return this.#rows.length < BATCH_ROWS && this.#characters < BATCH_CHARACTERS;
  }

  add(table: DataTable, rows: readonly DataRow[], line: { readonly number: number; readonly text: string }): void {
    this.#table = table;
    this.#rows.push(...rows);
    this.#lines.push(...rows.map(() => line.number));
    this.#hasher.update(line.text);
    this.#characters += line.text.length;
    this.#lastLine = line.number;
  }

  async store(): Promise<void> {
    const [table, rows, lines, lastLine] = [this.#table, this.#rows, this.#lines, this.#lastLine];
    const sha256 = this.#hasher.copy().digest('hex');
    if (table !== null) await this.#target.add({ table, rows, lines, lastLine, sha256 });
    this.#table = null;
    this.#rows = [];
    this.#lines = [];
    this.#characters = 0;
  }
}

/** Counts rows, and holds them to the order of the header. */
class TableOrder {
  readonly #name: string;
  readonly #tables: readonly string[];
  readonly #rows = new Map<string, number>();
  /** The rows that tables of this program get. */
  readonly stored = new Map<string, number>();
  #at = 0;
  total = 0;

  constructor(name: string, tables: readonly string[]) {
    this.#name = name;
    this.#tables = tables;
  }

  count(table: string, line: number, rowsOf: () => ReadRows): void {
    if (this.#tables[this.#at] !== table) {
      const at = this.#tables.indexOf(table, this.#at);
      if (at === -1) throw atLine(this.#name, line, `a row of ${table} is not in the order of the header`);
      this.#at = at;
    }
    this.#rows.set(table, (this.#rows.get(table) ?? 0) + 1);
    if (TABLE_NAMES.includes(table)) this.#add(table, 1);
    else {
      const { table: into, rows } = rowsOf();
      this.#add(into.name, rows.length);
    }
    this.total++;
  }

  #add(table: string, rows: number): void {
    this.stored.set(table, (this.stored.get(table) ?? 0) + rows);
  }

  compare({ rows }: DataTrailer): void {
    const names = new Set([...this.#rows.keys(), ...Object.keys(rows)]);
    for (const table of names) if ((this.#rows.get(table) ?? 0) !== (rows[table] ?? 0)) throw torn(this.#name);
  }
}
