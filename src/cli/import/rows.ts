import { failed } from '../cliError.ts';
import { parseTime, TIME_WORDS } from '../flags.ts';
import columns from './columns.json';
import type { Line } from './lines.ts';
import { MIN_IMPORTED_SECRET_LENGTH } from '../../core/bounds.ts';
import { nearestName } from '../../basics/nearestName.ts';

/** A record of a CSV file (RFC 4180). `line` is the line on which it begins. */
interface CsvRecord {
  readonly line: number;
  readonly endOffset: number;
  readonly fields: readonly string[];
  /** Why the record cannot be read. Null: it can. */
  readonly problem: string | null;
}

/** The largest number of lines in a record, so that an unclosed quote does not swallow the rest of the file. */
const MAX_RECORD_LINES = 100;

/** Reads records. A broken record loses only its first line: the lines after it are read again. */
class CsvReader {
  readonly #lines: AsyncIterator<Line>;
  #queued: Line[] = [];

  constructor(lines: AsyncIterator<Line>) {
    this.#lines = lines;
  }

  /** The next record, which must have `width` fields (null: any number). Null at the end. Empty lines are skipped. */
  async read(width: number | null): Promise<CsvRecord | null> {
    for (;;) {
      const first = await this.#next();
      if (first === null) return null;
      if (first.text !== '' || first.problem !== null) return this.#readFrom(first, width);
    }
  }

  async #readFrom(first: Line, width: number | null): Promise<CsvRecord> {
    const lines = [first];
    let text = first.text;
    let parsed = parseRecord(text);
    while (parsed === OPEN && lines.length < MAX_RECORD_LINES) {
      const more = await this.#next();
      if (more === null) break;
      lines.push(more);
      text += `\n${more.text}`;
      parsed = more.problem === null ? parseRecord(text) : OPEN;
      if (more.problem !== null) break;
    }
    const problem = first.problem ?? problemOf(parsed, width);
    if (problem === null && typeof parsed !== 'string') {
      return { line: first.number, endOffset: lines.at(-1)?.endOffset ?? 0, fields: parsed, problem };
    }
    this.#queued.unshift(...lines.slice(1));
    return { line: first.number, endOffset: first.endOffset, fields: [], problem: problem ?? '' };
  }

  async #next(): Promise<Line | null> {
    const queued = this.#queued.shift();
    if (queued !== undefined) return queued;
    const next = await this.#lines.next();
    return next.done === true ? null : next.value;
  }
}

const OPEN = 'a quote is not closed';
const LOOSE = 'a field contains a quote but does not start with one';

function problemOf(parsed: readonly string[] | string, width: number | null): string | null {
  if (typeof parsed === 'string') return parsed;
  if (width === null || parsed.length === width) return null;
  return `the row has ${parsed.length} fields, but the header has ${width}`;
}

/** The fields of a record, or its problem. */
function parseRecord(text: string): string[] | typeof OPEN | typeof LOOSE {
  const fields: string[] = [];
  let i = 0;
  for (;;) {
    if (text[i] === '"') {
      const end = closingQuote(text, i + 1);
      if (end === -1) return OPEN;
      fields.push(text.slice(i + 1, end).replaceAll('""', '"'));
      i = end + 1;
      if (i < text.length && text[i] !== ',') return LOOSE;
    } else {
      const end = text.indexOf(',', i);
      const field = text.slice(i, end === -1 ? text.length : end);
      if (field.includes('"')) return LOOSE;
      fields.push(field);
      i += field.length;
    }
    if (i >= text.length) return fields;
    i++;
  }
}

/** Two quotes in a row mean one quote inside the field. */
function closingQuote(text: string, from: number): number {
  for (let i = text.indexOf('"', from); i !== -1; i = text.indexOf('"', i + 2)) {
    if (text[i + 1] !== '"') return i;
  }
  return -1;
}

/** columns.json is made by `npm run docs` from the fields of an import. */
export type ColumnKind = 'text' | 'count' | 'time' | 'flag' | 'list' | 'json';
export type ColumnKinds = Readonly<Record<string, ColumnKind>>;

/** How the text of a cell is read. `read` returns the value, or null for wrong text. `words` describes right text. */
interface Kind {
  readonly words: string;
  read(text: string): unknown;
}

const KINDS: Readonly<Record<ColumnKind, Kind>> = {
  text: { words: 'text', read: (cell) => cell },
  count: {
    words: 'a whole number of at least 0',
    read: (cell) => (/^\d{1,16}$/.test(cell) && Number.isSafeInteger(Number(cell)) ? Number(cell) : null),
  },
  time: { words: TIME_WORDS, read: parseTime },
  flag: {
    words: 'true or false',
    read(cell) {
      const word = cell.toLowerCase();
      if (word === 'true' || word === '1') return true;
      return word === 'false' || word === '0' ? false : null;
    },
  },
  list: { words: 'words', read: (cell) => cell.split(/[\s;]+/).filter((word) => word !== '') },
  json: {
    words: 'JSON',
    read(cell) {
      try {
        return JSON.parse(cell) as unknown;
      } catch {
        return null;
      }
    },
  },
};

const VARIANT = 'sha256_base64';

/** Columns have the names of fields. A dot separates a field from a field inside it. `hash` is short for `hash.value`. */
const COLUMNS: ColumnKinds = { hash: 'text', ...(columns as ColumnKinds) };

/** Refuses a wrong header before anything is sent. */
function checkHeader(names: readonly string[], hasApi: boolean): void {
  const problems: string[] = [];
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) !== i)
      problems.push(`The header has the column ${JSON.stringify(name)} twice. Remove one of them.`);
    else if (!Object.hasOwn(COLUMNS, name)) problems.push(unknownColumn(name));
  }
  if (!['plaintext', 'hash', 'hash.value'].some((name) => names.includes(name))) {
    problems.push('The header needs a column "plaintext" (the keys) or "hash" (the SHA-256 of the keys in base64).');
  }
  if (!hasApi && !names.includes('apiId'))
    problems.push('The header needs a column "apiId". To use one api for all rows, give --api ID.');
  if (problems.length > 0) throw failed(...problems);
}

/** A file without a header begins with a key. So an unknown name is shown only when it cannot be a key. */
function unknownColumn(name: string): string {
  const near = nearestName(name, Object.keys(COLUMNS));
  const isWord = name.length < MIN_IMPORTED_SECRET_LENGTH && /^[A-Za-z][\w. -]*$/.test(name);
  const shown = isWord ? `Unknown column ${JSON.stringify(name)}.` : 'The header has an unknown column name.';
  if (near !== null) return `${shown} Did you mean ${near}?`;
  return `${shown} The first line must name columns. Known columns: ${Object.keys(COLUMNS).join(', ')}.`;
}

/**
 * The fields of a row. An empty cell is an absent field. Returns a text with all problems when a cell is wrong; it never
 * shows a cell, which may hold a key in the wrong column.
 */
function toFields(names: readonly string[], cells: readonly string[]): object | string {
  const fields: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [i, name] of names.entries()) {
    const cell = cells[i]?.trim() ?? '';
    if (cell === '') continue;
    const kind = KINDS[COLUMNS[name] ?? 'text'];
    const value = kind.read(cell);
    if (value === null) problems.push(`${name} must be ${kind.words}`);
    else put(fields, name === 'hash' ? 'hash.value' : name, value);
  }
  if (problems.length > 0) return problems.join('; ');
  return withVariant(fields);
}

/** Adds the variant of a digest when it is absent: there is only one. */
function withVariant(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { hash } = fields;
  if (typeof hash === 'string') return { ...fields, hash: { value: hash, variant: VARIANT } };
  if (typeof hash !== 'object' || hash === null || 'variant' in hash) return fields;
  return { ...fields, hash: { ...hash, variant: VARIANT } };
}

function put(fields: Record<string, unknown>, name: string, value: unknown): void {
  const [outer = '', inner] = name.split('.');
  if (inner === undefined) fields[outer] = value;
  else fields[outer] = { ...(fields[outer] as object | undefined), [inner]: value };
}

/** One key of the file, or the problem of its line. */
export interface Row {
  readonly line: number;
  readonly endOffset: number;
  readonly key: Readonly<Record<string, unknown>> | null;
  readonly problem: string;
}

export type Format = 'csv' | 'jsonl';

interface Reading {
  readonly format: Format;
  /** The api of rows that do not name one. */
  readonly apiId: string | null;
  /** The owner of every row must exist. */
  readonly mustExist: boolean;
  /** Rows that end at this offset or before are already done. */
  readonly skipTo: number;
}

export async function* readRows(lines: AsyncGenerator<Line>, reading: Reading): AsyncGenerator<Row> {
  const rows = reading.format === 'csv' ? csvRows(lines, reading) : jsonRows(lines);
  for await (const row of rows) {
    if (row.endOffset <= reading.skipTo) continue;
    yield row.key === null ? row : { ...row, key: withFlags(row.key, reading) };
  }
}

/** What flags say of all rows. */
function withFlags(key: Readonly<Record<string, unknown>>, { apiId, mustExist }: Reading): typeof key {
  return {
    ...(apiId === null || key['apiId'] !== undefined ? {} : { apiId }),
    ...key,
    ...(mustExist ? { mustExist: true } : {}),
  };
}

async function* csvRows(lines: AsyncGenerator<Line>, { apiId }: Reading): AsyncGenerator<Row> {
  const reader = new CsvReader(lines);
  const header = await reader.read(null);
  if (header === null) throw failed('The file is empty. Its first line must name the columns.');
  if (header.problem !== null) throw failed(`The header cannot be read (${header.problem}).`);
  const names = header.fields.map((name) => name.trim());
  checkHeader(names, apiId !== null);
  for (let record = await reader.read(names.length); record !== null; record = await reader.read(names.length)) {
    const { line, endOffset, fields, problem } = record;
    const read = problem ?? toFields(names, fields);
    if (typeof read === 'string') yield { line, endOffset, key: null, problem: read };
    else yield { line, endOffset, key: { ...read }, problem: '' };
  }
}

async function* jsonRows(lines: AsyncGenerator<Line>): AsyncGenerator<Row> {
  for await (const { number: line, endOffset, text, problem } of lines) {
    if (problem !== null) yield { line, endOffset, key: null, problem };
    else if (text.trim() !== '') yield { line, endOffset, ...toKey(text) };
  }
}

/** The error of the parser is not shown: it quotes the line, which may contain a key. */
function toKey(text: string): Pick<Row, 'key' | 'problem'> {
  try {
    const value = JSON.parse(text) as unknown;
    if (isObject(value)) return { key: withVariant(withoutNulls(value)), problem: '' };
    return { key: null, problem: 'the line is JSON, but not an object' };
  } catch {
    return { key: null, problem: 'the line is not valid JSON' };
  }
}

/** Removes fields that are null, as databases export empty columns. Metadata keeps its nulls. */
function withoutNulls(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) continue;
    if (!isObject(value) || name === 'meta') kept[name] = value;
    else if (Object.values(value).some((inner) => inner !== null) || Object.keys(value).length === 0) {
      kept[name] = withoutNulls(value);
    }
  }
  return kept;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
