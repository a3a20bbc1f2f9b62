/**
 * Management statements in the SQL that both engines understand. Parameters are $1, $2, ... in the order of their first use. Numbers
 * are integers, structures are JSON text. Each engine has its own statements where speed or exactness needs it.
 */
export type Params = (string | number | null)[];

export interface Statement {
  readonly sql: string;
  readonly params: Params;
}

/** One statement of a change. */
export interface WriteStatement extends Statement {
  /** The number of rows that it must change; any other number refuses the change. null = any number is right. */
  readonly expects: number | null;
  /** What PostgreSQL runs instead, with the same parameters. */
  readonly onPostgres?: string;
  /** For a plain insert of one row: the text before VALUES. Inserts with the same text can be sent as one statement. */
  readonly insertInto?: string;
}

/** How an engine reads. A read sees all writes before it. */
export interface SqlReader {
  /** Reads a few rows by an index. */
  find<T>(statement: Statement): Promise<T[]>;
  /** Runs a statement that may take long. Verifications do not wait for it. */
  scan<T>(statement: Statement): Promise<T[]>;
}

/**
 * How an engine writes what is no change of a record: all statements in one transaction. Answers how many rows each of them changed;
 * null when one of them changed another number than it must, and then nothing was written.
 */
export interface SqlWriter {
  write(statements: readonly WriteStatement[]): Promise<readonly number[] | null>;
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

/** Parameters in one statement. The maximum of each engine is higher. */
const MAX_PARAMS = 20_000;

/** Merges the inserts of each table into the first of them. That saves round trips to a far database. */
export function mergeInserts(statements: readonly WriteStatement[]): WriteStatement[] {
  const merged: WriteStatement[] = [];
  /** By table: the index of the statement that collects its rows. */
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

/** Sets columns of the one row that has the values of `where`. */
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

/** JSON of a list; null for an empty list. */
export function listText(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list);
}
