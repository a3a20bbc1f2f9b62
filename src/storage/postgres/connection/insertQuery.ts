import type { QueryConfig } from 'pg';

import type { InsertInto, Params } from '../../sql/query/statement.ts';

export interface RowsOfTable {
  readonly into: InsertInto;
  readonly rows: Params[];
}

/**
 * The rows are one parameter. So the text is the same for one row and for thousands, and the server plans it once for each connection. A
 * list of VALUES with 20,000 parameters took it several times as long as the insert itself.
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
