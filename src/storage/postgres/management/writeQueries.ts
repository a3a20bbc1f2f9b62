import type { QueryConfig } from 'pg';

import type { RecordWrite } from '../../port/writes.ts';
import type { WriteStatement } from '../../sql/query/statement.ts';
import { writeStatements } from '../../sql/writes.ts';
import { insertQuery, type RowsOfTable } from '../connection/insertQuery.ts';

/** A query, and the number of rows that it must change; null = any number is right. */
export interface WriteQuery {
  readonly query: QueryConfig;
  readonly expects: number | null;
}

/** The queries of writes. The inserts of each table are one query, in the place of the first of them. */
export function writeQueries(writes: readonly RecordWrite[]): WriteQuery[] {
  const merged: (WriteStatement | RowsOfTable)[] = [];
  const byTable = new Map<string, RowsOfTable>();
  for (const statement of writes.flatMap(writeStatements)) {
    const { insertInto: into, params } = statement;
    if (into === undefined) {
      merged.push(statement);
      continue;
    }
    const known = byTable.get(into.table);
    if (known !== undefined) known.rows.push(params);
    else {
      const rows: RowsOfTable = { into, rows: [params] };
      byTable.set(into.table, rows);
      merged.push(rows);
    }
  }
  return merged.map((each) => ('into' in each ? { query: insertQuery(each), expects: null } : writeQuery(each)));
}

function writeQuery({ sql, onPostgres, params, expects }: WriteStatement): WriteQuery {
  return { query: { text: onPostgres ?? sql, values: params }, expects };
}
