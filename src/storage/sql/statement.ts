/**
 * The management statements, in the SQL that both engines speak: parameters are $1, $2, ... in the order of their first use,
 * numbers are integers, structures are JSON text. What must be fast or exact is written by each engine for itself.
 */
export type Params = (string | number | null)[];

export interface Statement {
  readonly sql: string;
  readonly params: Params;
}

/** A part of a change. */
export interface WriteStatement extends Statement {
  /** Rows that it must change, or the change is refused; null = any number. */
  readonly expects: number | null;
  /** Of a plain insert of one row: what stands before its values. Those of one table can be sent as one. */
  readonly insertInto?: string;
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
  const insertInto = `INSERT INTO ${table} (${names.join(', ')})`;
  const sql = `${insertInto} VALUES (${placeholders(names.length)})`;
  return { sql, params: Object.values(columns), expects: null, insertInto };
}

/** Parameters of one statement; engines have a maximum of their own above it. */
const MAX_PARAMS = 20_000;

/** The same with the rows of each table inserted at once, in the place of the first: fewer round trips to a far database. */
export function mergeInserts(statements: readonly WriteStatement[]): WriteStatement[] {
  const merged: WriteStatement[] = [];
  /** Where the rows of a table are collected. */
  const indexes = new Map<string, number>();
  for (const statement of statements) {
    const { insertInto, params } = statement;
    const index = insertInto === undefined ? undefined : indexes.get(insertInto);
    const before = index === undefined ? undefined : merged[index];
    if (index === undefined || before === undefined || before.params.length + params.length > MAX_PARAMS) {
      if (insertInto !== undefined) indexes.set(insertInto, merged.length);
      merged.push(statement);
    } else {
      const row = `(${placeholders(params.length, before.params.length + 1)})`;
      merged[index] = { ...before, sql: `${before.sql}, ${row}`, params: [...before.params, ...params] };
    }
  }
  return merged;
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
  return { sql: `UPDATE ${table} SET ${set} WHERE ${fits}`, params, expects: 1 };
}

export function remove(table: string, where: Readonly<Record<string, Params[number]>>): WriteStatement {
  const fits = Object.keys(where).map((name, i) => `${name} = $${i + 1}`);
  return {
    sql: `DELETE FROM ${table} WHERE ${fits.join(' AND ')}`,
    params: Object.values(where),
    expects: 1,
  };
}

/** JSON of a list, null when it is empty. */
export function listText(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list);
}
