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
export function insertQuery({ into: { table, columns }, rows }: RowsOfTable): QueryConfig {
  const names = columns.join(', ');
  const objects = rows.map((params) => Object.fromEntries(columns.map((column, i) => [column, params[i]])));
  return {
    name: `insert_${table}`,
    text: `INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1::json)`,
    values: [JSON.stringify(objects)],
  };
}
