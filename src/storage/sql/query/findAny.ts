import { byAny } from './queries.ts';
import type { SqlReader } from './statement.ts';

/** Values in one IN (...). */
const MAX_IN = 500;

/** Finds the rows whose column has one of the values, in as few statements as the engines allow. */
export async function findAny<T>(
  reader: SqlReader,
  { select, column }: { readonly select: string; readonly column: string },
  values: readonly string[],
): Promise<T[]> {
  const rows: T[] = [];
  for (let i = 0; i < values.length; i += MAX_IN) {
    rows.push(...(await reader.find<T>(byAny(select, column, values.slice(i, i + MAX_IN)))));
  }
  return rows;
}
