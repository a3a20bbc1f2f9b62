import { failed } from '../cliError.ts';
import { checkHeader, toFields, withVariant } from './columns.ts';
import { CsvReader } from './csv.ts';
import type { Line } from './lines.ts';

/** One key of the file, or the problem of its line. */
export interface Row {
  readonly line: number;
  readonly endOffset: number;
  readonly key: Readonly<Record<string, unknown>> | null;
  readonly problem: string;
}

export type Format = 'csv' | 'jsonl';

export interface Reading {
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
