import type { QueryConfig } from 'pg';

import type { InsertInto, Params } from '../../sql/query/statement.ts';

/** The type of the elements. */
const INT8_TYPE = 20;
const INT8_BYTES = 8;
const TWO_TO_32 = 2 ** 32;
/** Before each element: its number of bytes. */
const LENGTH_BYTES = 4;
/**
 * The header: number of dimensions, whether there are nulls, the type; then, for one dimension, its length and the index of its first
 * element.
 */
const HEAD_BYTES = 20;

const EMPTY = Buffer.from([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, INT8_TYPE]);

/**
 * A list of whole numbers (`bigint[]`) in the binary format of the server. The driver sends a Buffer unchanged. By itself it would write
 * each number as text, which the server would have to parse. Bytes are set one by one, because a DataView takes five times as long.
 */
export function int8List(values: readonly (number | null)[]): Buffer {
  const count = values.length;
  if (count === 0) return EMPTY;
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + count * (LENGTH_BYTES + INT8_BYTES));
  // One dimension, there may be nulls.
  put(bytes, 0, 1);
  put(bytes, 4, 1);
  put(bytes, 8, INT8_TYPE);
  put(bytes, 12, count);
  put(bytes, 16, 1);
  let at = HEAD_BYTES;
  for (let i = 0; i < count; i++) {
    const value = values[i] as number | null;
    if (value === null) {
      put(bytes, at, -1);
      at += LENGTH_BYTES;
      continue;
    }
    const high = Math.floor(value / TWO_TO_32);
    put(bytes, at, INT8_BYTES);
    put(bytes, at + 4, high);
    put(bytes, at + 8, value - high * TWO_TO_32);
    at += LENGTH_BYTES + INT8_BYTES;
  }
  return at === bytes.length ? bytes : bytes.subarray(0, at);
}

/** The lower 32 bits of a number. */
function put(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

export interface RowsOfTable {
  readonly into: InsertInto;
  readonly rows: Params[];
}

/**
 * All rows are one parameter. So the text is the same for one row and for thousands, and the server plans it once for each connection.
 * Planning a list of VALUES with 20,000 parameters took several times as long as the insert itself.
 */
export function insertQuery({ into: { table, columns, each }, rows }: RowsOfTable): QueryConfig {
  const names = columns.join(', ');
  const selected = columns.map((name) => (name === each ? `json_array_elements_text(${name}::json)` : name));
  const objects = rows.map((params) => toObject(columns, params));
  return {
    name: `insert_${table}`,
    text: `INSERT INTO ${table} (${names}) SELECT ${selected.join(', ')} FROM json_populate_recordset(NULL::${table}, $1::json)`,
    values: [JSON.stringify(objects)],
  };
}

/** Object.fromEntries takes five times as long, and a thousand keys have up to a hundred thousand words. */
function toObject(columns: readonly string[], params: Params): Record<string, Params[number] | undefined> {
  const object: Record<string, Params[number] | undefined> = {};
  for (let i = 0; i < columns.length; i++) object[columns[i] as string] = params[i];
  return object;
}
