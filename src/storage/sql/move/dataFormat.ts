import { DataError } from './dataError.ts';
import { idPattern } from '../../../core/ids.ts';
import { type Authenticity, authenticityOf, type CopyTrust, refusalOf } from '../copySignature.ts';
import { COUNTER_NAMES, COUNTERS, type DataRow, type DataTable, type DataValue, findReadable } from './dataTables.ts';

/**
 * The file of an export, with one JSON text per line:
 *
 *   {"keystile":"data","format":2,...}       the header: what it is, and of which installation
 *   ["apis",{"id":"api_...",...}]            a row: its table and its columns, without those that are null
 *   {"rows":{"apis":1,...},"sha256":"..."}   the trailer: rows of each table, and the checksum of everything before this line, with its
 *                                            signature as "hmac" when it is signed (copySignature.ts)
 *
 * Tables come in the order of the header. A file that was cut off has no trailer.
 */
export const DATA_FORMAT = 2;

/** The oldest format that can be imported. Before format 2, counts of analytics had a column for each code. */
const FIRST_FORMAT = 1;

/** The first bytes of every export. */
export const HEADER_START = '{"keystile":"data",';

/** Longer than any row: a waiting import has up to 4 MiB of keys, which are quoted once more. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Messages show the version, and a file can be forged, so it must contain nothing that a terminal obeys. */
const VERSION_PATTERN = /^[\w.+-]{1,64}$/;
const INSTALLATION_PATTERN = new RegExp(idPattern('ws'));
const EXPORT_PATTERN = new RegExp(idPattern('export'));
/** The last instant that a date can have. */
const MAX_DATE_MS = 8.64e15;

type EngineName = 'sqlite' | 'postgres';

export interface DataHeader {
  /** The version of the program that made it. */
  readonly version: string;
  /** The version of the schema that it was read from. */
  readonly schema: number;
  readonly installation: string;
  readonly exportId: string;
  /** Everything that was answered before this instant is in it. */
  readonly takenAtMs: number;
  readonly engine: EngineName;
  /** The source spends nothing after this instant: otherwise both services could spend the same credits. */
  readonly isMove: boolean;
  readonly tables: readonly string[];
}

export interface DataTrailer {
  readonly rows: Readonly<Record<string, number>>;
  readonly sha256: string;
  /** null = it is not signed. */
  readonly signature: string | null;
}

export function headerLine({ takenAtMs, ...rest }: DataHeader): string {
  const { version, schema, installation, exportId, engine, isMove, tables } = rest;
  return `${JSON.stringify({ keystile: 'data', format: DATA_FORMAT, version, schema, installation, exportId, takenAt: takenAtMs, engine, move: isMove, tables })}\n`;
}

export function trailerLine({ rows, sha256, signature }: DataTrailer): string {
  return `${JSON.stringify({ rows, sha256, ...(signature === null ? {} : { hmac: signature }) })}\n`;
}

export function rowLine({ name, columns }: DataTable, row: DataRow): string {
  const written: Record<string, DataValue> = {};
  for (const column of columns.keys()) {
    const value = row[column] ?? null;
    if (value !== null) written[column] = value;
  }
  return `["${name}",${JSON.stringify(written)}]\n`;
}

/** The schema version of each engine that this program knows. */
export type KnownSchemas = Readonly<Record<EngineName, number>>;

/** Refuses a file that this program cannot import. `name` is the name of the file in messages. */
export function readHeader(name: string, line: string, known: KnownSchemas): DataHeader {
  const found = objectIn(line);
  const { format, version, schema, installation, exportId, takenAt, engine, move, tables } = found;
  if (found['keystile'] !== 'data')
    throw new DataError(`${name} is not an export of Keystile. Name a file that keystile data export has made.`);
  if (typeof format === 'number' && format > DATA_FORMAT) throw newer(name, `format ${format}`, DATA_FORMAT);
  const isSound =
    isNumber(format) &&
    format >= FIRST_FORMAT &&
    isText(version, VERSION_PATTERN) &&
    isNumber(schema) &&
    isText(installation, INSTALLATION_PATTERN) &&
    isText(exportId, EXPORT_PATTERN) &&
    isNumber(takenAt) &&
    takenAt <= MAX_DATE_MS &&
    typeof move === 'boolean' &&
    (engine === 'sqlite' || engine === 'postgres') &&
    Array.isArray(tables) &&
    tables.every((each) => typeof each === 'string');
  if (!isSound) throw atLine(name, 1, 'the header is not complete');
  if (schema > known[engine]) throw newer(name, `schema version ${schema} of ${engine}`, known[engine]);
  const unknown = tables.find((each) => findReadable(each) === undefined);
  if (unknown !== undefined) throw atLine(name, 1, `this program knows no table ${JSON.stringify(unknown)}`);
  return { version, schema, installation, exportId, takenAtMs: takenAt, engine, isMove: move, tables };
}

function newer(name: string, what: string, known: number): DataError {
  return new DataError(
    `${name} was made by a newer program: it has ${what}, and this program knows up to ${known}. ` +
      'Import it with the program that made it, or a newer one.',
  );
}

/** null = the line is not a trailer. */
export function readTrailer(line: string): DataTrailer | null {
  const { rows, sha256, hmac = null } = objectIn(line);
  if (typeof sha256 !== 'string' || typeof rows !== 'object' || rows === null) return null;
  if (hmac !== null && typeof hmac !== 'string') return null;
  const counts = Object.entries(rows);
  if (!counts.every(([, count]) => isNumber(count))) return null;
  return { rows: Object.fromEntries(counts), sha256, signature: hmac };
}

export interface ReadRows {
  /** The table that the file names. */
  readonly from: string;
  /** The table that gets the rows. */
  readonly table: DataTable;
  readonly rows: readonly DataRow[];
}

/** The rows of a line, or why it is not a row. */
export function readRows(line: string): ReadRows | string {
  const parsed = parse(line);
  if (!Array.isArray(parsed) || parsed.length !== 2)
    return 'it is not a row, which is a list of a table and its columns';
  const [name, row] = parsed as [unknown, unknown];
  const found = typeof name === 'string' ? findReadable(name) : undefined;
  if (found === undefined) return `this program knows no table ${shown(name)}`;
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return 'the columns are not an object';
  const { table, into, rowsOf } = found;
  const problem = problemOf(table, row as Record<string, unknown>) ?? counterProblem(table, row as DataRow);
  return problem ?? { from: table.name, table: into, rows: [...rowsOf(row as DataRow)] };
}

function problemOf({ name, columns }: DataTable, row: Record<string, unknown>): string | null {
  let found = 0;
  for (const [column, { kind, isOptional }] of columns) {
    const value = row[column];
    if (value === undefined) {
      if (!isOptional) return `the column ${column} of ${name} is missing`;
      continue;
    }
    found++;
    if (kind === 'text' ? typeof value !== 'string' : !Number.isSafeInteger(value))
      return `the column ${column} of ${name} must be ${kind === 'text' ? 'a text' : 'a whole number'}, got ${shown(value)}`;
  }
  if (found === Object.keys(row).length) return null;
  const unknown = Object.keys(row).find((column) => !columns.has(column));
  return `this program knows no column ${shown(unknown)} of ${name}`;
}

function counterProblem(table: DataTable, { name }: DataRow): string | null {
  if (table !== COUNTERS || COUNTER_NAMES.some((known) => known === name)) return null;
  return `this program knows no counter ${shown(name)}`;
}

export function atLine(name: string, line: number, problem: string): DataError {
  return new DataError(`${name} cannot be imported: in line ${line}, ${problem}. Export the data again.`);
}

/** Refuses an export whose signature is not as demanded. */
export function provenExport(name: string, { sha256, signature }: DataTrailer, trust: CopyTrust): ProvenExport {
  const authenticity = authenticityOf({ kind: 'export', sha256, signature }, trust.keys);
  const refusal = refusalOf(authenticity, trust);
  if (authenticity === 'forged' || refusal !== null) throw new DataError(`${name} ${refusal}`);
  return authenticity;
}

export type ProvenExport = Exclude<Authenticity, 'forged'>;

export function torn(name: string): DataError {
  return new DataError(
    `${name} is incomplete or was changed: its checksum does not match. Copy the file again from where it was made, or export the data again.`,
  );
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 64);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isText(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function objectIn(line: string): Record<string, unknown> {
  const value = parse(line);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** A database that is read for an export. */
export interface DataSource {
  readonly engine: EngineName;
  readonly schema: number;
  readonly installation: string;
  /** Rows of a table in the order of its key, some at a time. All reads share one transaction. */
  read(table: DataTable): AsyncIterable<readonly DataRow[]>;
  close(): Promise<void>;
}

/** Rows of one table, in the order of the file. */
export interface DataBatch {
  readonly table: DataTable;
  readonly rows: readonly DataRow[];
  /** The line that each row comes from. */
  readonly lines: readonly number[];
  /** The last line that was read for this batch. */
  readonly lastLine: number;
  /** The SHA-256 of all rows of the file up to that line. */
  readonly sha256: string;
}

export interface FinishedData {
  readonly header: DataHeader;
  readonly trailer: DataTrailer;
  /** The number of rows that each table must have by now. For a former table it differs from the number in the file. */
  readonly rows: ReadonlyMap<string, number>;
  readonly importedAtMs: number;
}

/** A new or empty database that is filled by an import. Nobody uses it before `finish`. */
export interface DataTarget {
  /** The last line that an earlier import of the same file has stored; 0 = none. `sha256` belongs to the batch with that line. */
  readonly stored: { readonly line: number; readonly sha256: string | null };
  /** The batch is stored as a whole, or not at all. */
  add(batch: DataBatch): Promise<void>;
  finish(finished: FinishedData): Promise<void>;
  /** Must be called whether or not `finish` was called. */
  close(): Promise<void>;
}
