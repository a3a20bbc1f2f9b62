/**
 * The management statements, in the SQL that both engines speak: parameters are $1, $2, ... in the order of their first use,
 * numbers are integers, structures are JSON text. What must be fast or exact is written by each engine for itself.
 */
export type Params = (string | number | null)[];

export interface Statement {
  readonly sql: string;
  readonly params: Params;
}

/** A part of a change. `changesOne`: it must find its row as the change expects it, or the change is refused. */
export interface WriteStatement extends Statement {
  readonly changesOne: boolean;
}

/** How an engine reads: on what its writes have left. */
export interface SqlReader {
  /** A few rows by an index. */
  find<T>(statement: Statement): Promise<T[]>;
  /** What may take long: verifications do not wait for it. */
  scan<T>(statement: Statement): Promise<T[]>;
}

export function placeholders(count: number, first = 1): string {
  return Array.from({ length: count }, (_, i) => `$${first + i}`).join(', ');
}

export function insert(table: string, columns: Readonly<Record<string, Params[number]>>): WriteStatement {
  const names = Object.keys(columns);
  const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${placeholders(names.length)})`;
  return { sql, params: Object.values(columns), changesOne: false };
}

/** Sets columns of the one row that fits. */
export function update(
  table: string,
  columns: Readonly<Record<string, Params[number]>>,
  where: Readonly<Record<string, Params[number]>>,
): WriteStatement {
  const [names, conditions] = [Object.keys(columns), Object.keys(where)];
  const set = names.map((name, i) => `${name} = $${i + 1}`).join(', ');
  const fits = conditions.map((name, i) => `${name} = $${names.length + i + 1}`).join(' AND ');
  const params = [...Object.values(columns), ...Object.values(where)];
  return { sql: `UPDATE ${table} SET ${set} WHERE ${fits}`, params, changesOne: true };
}

export function remove(table: string, where: Readonly<Record<string, Params[number]>>): WriteStatement {
  const fits = Object.keys(where).map((name, i) => `${name} = $${i + 1}`);
  return {
    sql: `DELETE FROM ${table} WHERE ${fits.join(' AND ')}`,
    params: Object.values(where),
    changesOne: true,
  };
}
