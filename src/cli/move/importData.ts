import { type FileHandle, open } from 'node:fs/promises';

import { failed } from '../cliError.ts';
import type { Io } from '../io.ts';
import { DataProgress } from './dataProgress.ts';
import { LOAD_POSTGRES } from './loadPostgres.ts';
import { removeWhenStopped } from '../removeWhenStopped.ts';
import type { Config } from '../../config/variables.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { CopyTrust } from '../../storage/sql/copySignature.ts';
import {
  atLine,
  type DataHeader,
  type DataTrailer,
  provenExport,
  type ProvenExport,
  type ReadRows,
  readRows,
  torn,
  type DataTarget,
  type KnownSchemas,
  MAX_LINE_BYTES,
  readHeader,
  readTrailer,
} from '../../storage/sql/move/dataFormat.ts';
import { DataError } from '../../storage/sql/move/dataError.ts';
import {
  type CounterName,
  COUNTERS,
  type DataRow,
  type DataTable,
  TABLE_NAMES,
} from '../../storage/sql/move/dataTables.ts';
import { partialFolderOf } from '../../storage/sqlite/backup/makeBackup.ts';
import { realFolder } from '../../storage/sqlite/backup/restoreBackup.ts';
import { SqliteDataTarget } from '../../storage/sqlite/move.ts';
import { Digester, realSystem, wallClockMs } from '../../bunPlatform.ts';
import { SCHEMA_VERSION as POSTGRES } from '../../storage/postgres/schema/schema.ts';
import { SCHEMA_VERSION as SQLITE } from '../../storage/sqlite/file/migrate.ts';

export interface Imported {
  readonly header: DataHeader;
  readonly trailer: DataTrailer;
  /** The last line that an earlier import had stored; 0 = there was none. */
  readonly resumedAfter: number;
  readonly authenticity: ProvenExport;
}

export interface ImportCall {
  readonly config: Config;
  /** Null: standard input. */
  readonly file: string | null;
  /** Asked before anything is made. Throws when the operator has not accepted what the header says. */
  readonly accept: (header: DataHeader) => void;
  readonly acceptsUnsigned: boolean;
}

/** Fills a new data folder or an empty database from an export. */
export async function importData(io: Io, call: ImportCall): Promise<Imported> {
  const { file } = call;
  if (file === null) return importFrom(io, call, { name: 'Standard input', chunks: streamOf(io), size: null });
  await using handle = await openExport(file);
  const size = await checkWhole(file, handle, trustOf(call));
  return await importFrom(io, call, { name: file, chunks: chunksOf(handle, size), size });
}

function trustOf({ config, acceptsUnsigned }: ImportCall): CopyTrust {
  return { keys: config.copyKey ?? [], acceptsUnsigned };
}

interface Input {
  readonly name: string;
  readonly chunks: Chunks;
  readonly size: number | null;
}

async function importFrom(io: Io, call: ImportCall, { name, chunks, size }: Input): Promise<Imported> {
  const { config, file, accept } = call;
  const reader = new DataReader(name, chunks);
  const header = await reader.header();
  accept(header);
  const progress = new DataProgress(io, size);
  const fill = async (): Promise<Imported> => {
    const target = await openTarget(config, header, file === null);
    try {
      const proven = { authenticity: 'unsigned' as ProvenExport };
      const prove = (found: DataTrailer): void => {
        try {
          proven.authenticity = provenExport(name, found, trustOf(call));
        } catch (error) {
          if (!(error instanceof DataError) || config.databaseUrl === null) throw error;
          throw new DataError(
            `${error.message} The database already has its rows, and no service will use them: drop the database.`,
          );
        }
      };
      const trailer = await readImport(reader, target, { name, header, nowMs: wallClockMs, progress, prove });
      return { header, trailer, resumedAfter: target.stored.line, ...proven };
    } finally {
      await target.close();
    }
  };
  try {
    if (config.databaseUrl !== null) return await fill();
    return await removeWhenStopped(partialFolderOf(realFolder(config.data)), fill);
  } finally {
    progress.end();
  }
}

async function openTarget(
  { data, databaseUrl, allowFsyncOff }: Config,
  header: DataHeader,
  isPiped: boolean,
): Promise<DataTarget> {
  if (databaseUrl === null) return SqliteDataTarget.open(data, { exportId: header.exportId, folderId: newFolderId() });
  const { PostgresDataTarget } = await LOAD_POSTGRES.write();
  return PostgresDataTarget.open(databaseUrl, header, { allowFsyncOff, isPiped });
}

function streamOf({ streamStdin }: Io): Chunks {
  if (streamStdin === undefined) throw failed('This process has no standard input. Name a file instead of -.');
  return streamStdin();
}

function newFolderId(): string {
  const { randomBytes } = realSystem(new Digester(null));
  return makeId('folder', wallClockMs(), randomBytes(ID_RANDOM_BYTES));
}

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
    `The database has rows of another file with the number of this export: ${name} was changed since an import of it was stopped, or the other file was. Drop the database and start over.`,
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

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const BRACE = 0x7b;
/** Longer than any trailer. */
const MAX_TRAILER_BYTES = 64 * 1024;

export type Chunks = AsyncIterable<Uint8Array>;

export async function openExport(path: string): Promise<FileHandle> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new DataError(`${path} is not a file. Name a file that keystile data export has made.`);
}

export async function* chunksOf(file: FileHandle, end: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < end;) {
    const { buffer, bytesRead } = await file.read(
      Buffer.allocUnsafe(CHUNK_BYTES),
      0,
      Math.min(CHUNK_BYTES, end - at),
      at,
    );
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** Reads a file to its end before anything is imported: its header is known, its checksum is right, and its signature as demanded. */
export async function checkWhole(path: string, file: FileHandle, trust: CopyTrust): Promise<number> {
  const { size } = await file.stat();
  const start = await file.read(Buffer.alloc(MAX_TRAILER_BYTES), 0, MAX_TRAILER_BYTES, 0);
  const firstEnd = start.buffer.indexOf(NEWLINE);
  readHeader(path, start.buffer.toString('utf8', 0, firstEnd === -1 ? start.bytesRead : firstEnd), KNOWN_SCHEMAS);
  const tailAt = Math.max(0, size - MAX_TRAILER_BYTES);
  const tail = await file.read(Buffer.alloc(MAX_TRAILER_BYTES), 0, MAX_TRAILER_BYTES, tailAt);
  const text = tail.buffer.subarray(0, tail.bytesRead);
  const lastAt = text.lastIndexOf(NEWLINE, text.length - 2) + 1;
  const trailer = text.at(-1) === NEWLINE ? readTrailer(text.toString('utf8', lastAt)) : null;
  if (trailer === null) throw torn(path);
  const hasher = new Bun.CryptoHasher('sha256');
  for await (const chunk of chunksOf(file, tailAt + lastAt)) hasher.update(chunk);
  if (hasher.digest('hex') !== trailer.sha256) throw torn(path);
  provenExport(path, trailer, trust);
  return size;
}

/** Reads an export line by line. `name` is what messages call it. */
export class DataReader {
  readonly #name: string;
  readonly #lines: AsyncGenerator<readonly Buffer[]>;
  readonly #hasher = new Bun.CryptoHasher('sha256');
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #waiting: readonly Buffer[] = [];
  #next = 0;
  /** The number of the last line that was read. */
  line = 0;
  bytes = 0;

  constructor(name: string, chunks: Chunks) {
    this.#name = name;
    this.#lines = this.#split(chunks);
  }

  async header(): Promise<DataHeader> {
    const line = await this.#take();
    return readHeader(this.#name, line === null ? '' : this.#hashed(line), KNOWN_SCHEMAS);
  }

  /** The text of the next row, or the trailer, behind which nothing may come. */
  async next(): Promise<string | DataTrailer> {
    const line = await this.#take();
    if (line === null) throw torn(this.#name);
    if (line[0] !== BRACE) return this.#hashed(line);
    const trailer = readTrailer(this.#decode(line));
    const digest = this.#hasher.digest('hex');
    if (trailer === null || trailer.sha256 !== digest || (await this.#take()) !== null) throw torn(this.#name);
    return trailer;
  }

  #hashed(line: Buffer): string {
    this.#hasher.update(line);
    return this.#decode(line);
  }

  #decode(line: Buffer): string {
    try {
      return this.#decoder.decode(line);
    } catch {
      throw atLine(this.#name, this.line, 'the text is not valid UTF-8');
    }
  }

  async #take(): Promise<Buffer | null> {
    while (this.#next >= this.#waiting.length) {
      const more = await this.#lines.next();
      if (more.done === true) return null;
      this.#waiting = more.value;
      this.#next = 0;
    }
    this.line++;
    const line = this.#waiting[this.#next++];
    this.bytes += line?.length ?? 0;
    return line ?? null;
  }

  /** The lines of each chunk, with their line breaks. A last line without one is torn. */
  async *#split(chunks: Chunks): AsyncGenerator<readonly Buffer[]> {
    let carried: Buffer = Buffer.alloc(0);
    for await (const chunk of chunks) {
      const bytes = carried.length === 0 ? Buffer.from(chunk) : Buffer.concat([carried, chunk]);
      const lines: Buffer[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        lines.push(bytes.subarray(start, end + 1));
        start = end + 1;
      }
      carried = bytes.subarray(start);
      if (lines.length > 0) yield lines;
      if (carried.length > MAX_LINE_BYTES)
        throw atLine(this.#name, this.line + 1, `the line is longer than ${MAX_LINE_BYTES} bytes`);
    }
    if (carried.length > 0) throw torn(this.#name);
  }
}

function unreadable(path: string, error: unknown): DataError {
  const reason = (error as { code?: string }).code ?? String(error);
  return new DataError(`${path} cannot be read (${reason}). Name a file that keystile data export has made.`);
}

const KNOWN_SCHEMAS: KnownSchemas = { sqlite: SQLITE, postgres: POSTGRES };
