import { existsSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { failed } from '../cliError.ts';
import type { Io } from '../io.ts';
import { DataProgress } from './dataProgress.ts';
import { holdForMove, type SourceHold } from './hold.ts';
import { LOAD_POSTGRES } from './loadPostgres.ts';
import { whenStopped } from '../removeWhenStopped.ts';
import type { Config } from '../../config/variables.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { type CopyKeys, signatureOf } from '../../storage/sql/copySignature.ts';
import {
  DATA_FORMAT,
  type DataHeader,
  HEADER_START,
  type DataSource,
  headerLine,
  MAX_LINE_BYTES,
  rowLine,
  trailerLine,
} from '../../storage/sql/move/dataFormat.ts';
import { DataError } from '../../storage/sql/move/dataError.ts';
import { DATA_TABLES, TABLE_NAMES, type DataRow, type DataTable } from '../../storage/sql/move/dataTables.ts';
import { makePartialFolder, partialFolderOf } from '../../storage/sqlite/backup/makeBackup.ts';
import { flushFolder } from '../../storage/sqlite/file/dataFolder.ts';
import { targetProblem } from '../../storage/sqlite/file/copyBeforeMigration.ts';
import { toWriteFailure } from '../../storage/sqlite/file/writeFailure.ts';
import { SqliteDataSource } from '../../storage/sqlite/move.ts';
import { Digester, realSystem, wallClockMs } from '../../bunPlatform.ts';
import { VERSION } from '../../version.ts';

export interface ExportCall {
  readonly config: Config;
  /** Null: standard output. */
  readonly file: string | null;
  readonly replaces: boolean;
  readonly moves: boolean;
}

export interface Exported extends WrittenExport {
  readonly exportId: string;
  readonly takenAtMs: number;
  /** An earlier move had marked the source already: there may be two exports that someone uses. */
  readonly wasMoved: boolean;
  /** The file that encrypts the secrets of webhooks, when they need it. */
  readonly encryptionKeyFile: string | null;
}

/** Writes everything that the database has into a file, or to standard output. */
export async function exportData(io: Io, call: ExportCall): Promise<Exported> {
  const { file, replaces } = call;
  const moving = new Moving(call, newExportId());
  const progress = new DataProgress(io, null);
  // A pipe has no name to get: an import of it is finished by the trailer.
  const finish = (): Promise<void> => moving.finish();
  const finishPipe = async (): Promise<void> => {
    await moving.finish();
    moving.mayBeWhole = true;
  };
  const end = (): void => {
    progress.end();
    const advice = adviceAfter(moving, file);
    if (advice !== null) io.err(`${advice}\n`);
  };
  const stopped = (): void => {
    // First: what cannot be removed hides no advice.
    end();
    if (file !== null) removeUnfinished(file);
  };
  const write = (sink: Sink): Promise<Exported> =>
    writeFrom(moving, sink, { progress, beforeTrailer: file === null ? finishPipe : async () => {} });
  const named = (): void => void (moving.mayBeWhole = true);
  return whenStopped(stopped, async () => {
    try {
      if (file === null) return await write(standardOutput(io));
      return await exportToFile({ file, replaces, beforeName: finish, named }, write);
    } catch (error) {
      await moving.close();
      end();
      throw toDataError(error, file, moving);
    } finally {
      progress.end();
      await moving.close();
    }
  });
}

/** An export, and the hold of its source if it is a move. */
class Moving {
  readonly config: Config;
  readonly exportId: string;
  readonly isMove: boolean;
  hold: SourceHold | null = null;
  /** Whether the source does not start, however this process ends now. A data folder is marked at the end, PostgreSQL at the beginning. */
  marked: 'no' | 'maybe' | 'yes' = 'no';
  /** An earlier move has marked the source. */
  wasMoved = false;
  #isFinished = false;
  /** Someone may use the export: the file has its name, or the trailer was sent. */
  mayBeWhole = false;

  constructor({ config, moves }: ExportCall, exportId: string) {
    this.config = config;
    this.exportId = exportId;
    this.isMove = moves;
  }

  async begin(): Promise<void> {
    if (!this.isMove) return;
    const isDatabase = this.config.databaseUrl !== null;
    if (isDatabase) this.marked = 'maybe';
    try {
      this.hold = await holdForMove(this.config, this.exportId);
    } catch (error) {
      // It says what to do where the database may be marked.
      this.marked = 'no';
      throw error;
    }
    this.wasMoved = this.hold.wasMoved;
    if (isDatabase) this.marked = 'yes';
  }

  async finish(): Promise<void> {
    const { hold, marked } = this;
    if (hold === null) return;
    if (marked === 'no') this.marked = 'maybe';
    try {
      await hold.finish();
    } catch (error) {
      if (error instanceof DataError) this.marked = marked;
      throw error;
    }
    this.#isFinished = true;
    this.marked = 'yes';
  }

  /** Lets go, unless the move is finished. A failure leaves the source as it is, and hides no other one. */
  async close(): Promise<void> {
    const { hold } = this;
    if (hold === null) return;
    this.hold = null;
    try {
      await hold.close();
      if (this.marked === 'yes' && !this.#isFinished) this.marked = 'no';
    } catch {}
  }
}

/** The export has failed. Null: the source is as before. */
function adviceAfter({ marked, wasMoved, mayBeWhole }: Moving, file: string | null): string | null {
  const what = file === null ? 'the import at the other end of the pipe' : file;
  if (wasMoved) {
    const unless = mayBeWhole ? `neither that export nor ${what} is used` : 'that export is not used';
    return `An earlier export with --move has already moved the service. Run keystile data release only if ${unless}.`;
  }
  if (marked === 'no') return null;
  if (marked === 'maybe')
    return 'The service may refuse to start. Run keystile data release before you start it, unless an earlier export with --move is used.';
  // Not an order: the error that follows may say to run the command again.
  if (!mayBeWhole)
    return 'The export is not whole, and the service does not start until you run keystile data release.';
  return `The service does not start again. Check whether ${what} is whole: only one of the two services may run. If it is not whole, run keystile data release to use this one again.`;
}

async function writeFrom(
  moving: Moving,
  sink: Sink,
  options: Pick<WriteOptions, 'progress' | 'beforeTrailer'>,
): Promise<Exported> {
  const { config, exportId, isMove } = moving;
  await moving.begin();
  const takenAtMs = wallClockMs();
  const source = await openSource(config);
  try {
    const copyKeys = config.copyKey ?? [];
    const written = await writeExport(source, sink, { ...options, exportId, takenAtMs, isMove, copyKeys });
    return { ...written, exportId, takenAtMs, wasMoved: moving.wasMoved, encryptionKeyFile: keyFile(config, written) };
  } finally {
    await source.close();
  }
}

async function openSource({ data, databaseUrl }: Config): Promise<DataSource> {
  if (databaseUrl === null) return SqliteDataSource.open(data);
  const { PostgresDataSource } = await LOAD_POSTGRES.read();
  return PostgresDataSource.open(databaseUrl);
}

/** Failures of the system and of SQLite. Others have a sentence of their own. */
export function toDataError(
  error: unknown,
  file: string | null,
  { mayBeWhole }: { readonly mayBeWhole: boolean },
): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string' || !/^(?:E[A-Z0-9]+|SQLITE_\w+)$/.test(code)) return error;
  const { kind, message } = toWriteFailure(error);
  if (file !== null && mayBeWhole)
    return new DataError(
      `The export ${resolve(file)} was made, but a crash could still lose it (${message}). Check the disk and the export.`,
    );
  const what = file === null ? 'The export was not written' : `The export ${resolve(file)} was not made`;
  const left = file === null ? '' : ' Nothing is left of it.';
  const other = file === null ? '' : ', or name a file on another disk';
  const advice = kind === 'full' ? `Make space${other}.` : 'Check the disk and the database.';
  return new DataError(`${what} (${message}).${left} ${advice}`);
}

function standardOutput(io: Io): Sink {
  const { writeOut } = io;
  if (writeOut === undefined) throw failed('This process has no standard output for an export. Name a file.');
  return async (bytes) => {
    await writeOut(bytes).catch((error: unknown) => {
      const reason = (error as { code?: string }).code ?? String(error);
      throw failed(`The export was not written: standard output was closed (${reason}).`);
    });
  };
}

function keyFile({ data, databaseUrl, encryptionKey }: Config, { rows }: WrittenExport): string | null {
  const path = join(data, 'encryption-key');
  const isNeeded = (rows['webhooks'] ?? 0) > 0 && databaseUrl === null && encryptionKey === null;
  return isNeeded && existsSync(path) ? path : null;
}

function newExportId(): string {
  const { randomBytes } = realSystem(new Digester(null));
  return makeId('export', wallClockMs(), randomBytes(ID_RANDOM_BYTES));
}

export interface FileOptions {
  readonly file: string;
  /** Replace an older export. */
  readonly replaces: boolean;
  /** Called when the file is whole and flushed, before it gets its name. */
  readonly beforeName: () => Promise<void>;
  /** Called when the file has its name. */
  readonly named: () => void;
}

const EXPORT = { words: 'an export', begin: new RegExp(`^${RegExp.escape(HEADER_START)}`) };

/** Makes a file (0600). Until it is whole and flushed, it has another name. */
export async function exportToFile<T>(options: FileOptions, write: (sink: Sink) => Promise<T>): Promise<T> {
  const file = resolve(options.file);
  refuseTarget(file, options);
  try {
    return await fill(file, options, write);
  } finally {
    removeUnfinished(file);
  }
}

/** What there is of a file that has no name yet. */
export function removeUnfinished(file: string): void {
  rmSync(partialFolderOf(file), { recursive: true, force: true });
}

function refuseTarget(file: string, { replaces }: FileOptions): void {
  const problem = targetProblem(file, EXPORT, replaces);
  if (problem !== null) throw new DataError(problem);
}

async function fill<T>(file: string, options: FileOptions, write: (sink: Sink) => Promise<T>): Promise<T> {
  const path = join(makePartialFolder(file), 'data');
  const target = await open(path, 'wx', 0o600);
  let written: T;
  try {
    written = await write(async (bytes) => {
      for (let at = 0; at < bytes.length;) at += (await target.write(bytes, at, bytes.length - at)).bytesWritten;
    });
    await target.sync();
  } finally {
    await target.close();
  }
  // The export took time: what is at its place now may be another file.
  refuseTarget(file, options);
  await options.beforeName();
  renameSync(path, file);
  options.named();
  flushFolder(dirname(file));
  return written;
}

export interface WriteOptions {
  readonly exportId: string;
  readonly takenAtMs: number;
  readonly progress: DataProgress;
  readonly copyKeys: CopyKeys;
  readonly isMove: boolean;
  /** Called when everything but the trailer is written. */
  readonly beforeTrailer: () => Promise<void>;
}

/** What an export has in it. */
export interface WrittenExport {
  readonly format: number;
  readonly bytes: number;
  readonly total: number;
  readonly rows: Readonly<Record<string, number>>;
  readonly installation: string;
}

/** Writes everything that the source has. */
export async function writeExport(source: DataSource, sink: Sink, options: WriteOptions): Promise<WrittenExport> {
  const { progress } = options;
  const writer = new DataWriter(sink, headerOf(source, options), options.copyKeys);
  for (const table of DATA_TABLES) {
    for await (const rows of source.read(table)) {
      await writer.write(table, rows);
      progress.show({ rows: writer.total, table: table.name, bytes: writer.bytes });
    }
  }
  await writer.end(options.beforeTrailer);
  const { bytes, total, rows } = writer;
  return { format: DATA_FORMAT, bytes, total, rows, installation: source.installation };
}

function headerOf(
  { engine, schema, installation }: DataSource,
  { exportId, takenAtMs, isMove }: WriteOptions,
): DataHeader {
  return {
    version: VERSION,
    schema,
    installation,
    exportId,
    takenAtMs,
    engine,
    isMove,
    tables: TABLE_NAMES,
  };
}

/** Where an export goes: a file, or standard output. */
export type Sink = (bytes: Uint8Array) => Promise<void>;

/** Characters that are written at once. */
const CHUNK = 512 * 1024;

/** Writes an export, line by line. */
export class DataWriter {
  readonly #sink: Sink;
  readonly #hasher = new Bun.CryptoHasher('sha256');
  readonly #rows = new Map<string, number>();
  readonly #key: Uint8Array | undefined;
  #lines: string[] = [];
  #length = 0;
  #bytes = 0;
  #total = 0;

  /** `keys`: the export is signed when there is one. */
  constructor(sink: Sink, header: DataHeader, [key]: CopyKeys) {
    this.#sink = sink;
    this.#key = key;
    this.#add(headerLine(header));
  }

  /** Rows so far. */
  get total(): number {
    return this.#total;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Rows of each table that has any. */
  get rows(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#rows);
  }

  async write(table: DataTable, rows: readonly DataRow[]): Promise<void> {
    for (const row of rows) {
      const line = rowLine(table, row);
      // A character takes at most three bytes.
      if (line.length > MAX_LINE_BYTES / 3 && Buffer.byteLength(line) > MAX_LINE_BYTES) throw tooLong(table, row);
      this.#add(line);
      if (this.#length >= CHUNK) await this.#flush();
    }
    this.#rows.set(table.name, (this.#rows.get(table.name) ?? 0) + rows.length);
    this.#total += rows.length;
  }

  /** Writes the trailer. What is written before it is of no use without it, so `beforeTrailer` is the last chance to say no. */
  async end(beforeTrailer: () => Promise<void>): Promise<void> {
    await this.#flush();
    await beforeTrailer();
    const sha256 = this.#hasher.digest('hex');
    const signature = this.#key === undefined ? null : signatureOf(this.#key, 'export', sha256);
    const trailer = Buffer.from(trailerLine({ rows: this.rows, sha256, signature }));
    this.#bytes += trailer.length;
    await this.#sink(trailer);
  }

  #add(line: string): void {
    this.#lines.push(line);
    this.#length += line.length;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    this.#length = 0;
    this.#bytes += bytes.length;
    this.#hasher.update(bytes);
    await this.#sink(bytes);
  }
}

function tooLong({ name, key }: DataTable, row: DataRow): DataError {
  const which = key.map((column) => `${column} ${String(row[column])}`).join(', ');
  return new DataError(`A row of ${name} (${which}) is longer than ${MAX_LINE_BYTES} bytes, and cannot be exported.`);
}
