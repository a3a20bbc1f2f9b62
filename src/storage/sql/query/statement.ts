/**
 * Management statements in SQL that both engines understand. Parameters are $1, $2, ... in the order of their first use. Numbers are
 * integers, structures are JSON text. Each engine has its own statements where speed or exactness requires it.
 */
export type Params = (string | number | null)[];

export interface Statement {
  readonly sql: string;
  readonly params: Params;
}

/** One statement of a change. */
export interface WriteStatement extends Statement {
  /** The number of rows that it must change; any other number refuses the change. null = any number is allowed. */
  readonly expects: number | null;
  /** What PostgreSQL runs instead, with the same parameters. */
  readonly onPostgres?: string;
  /**
   * Set for a plain insert of one row, or of one row for each item of a list. All inserts of a table name the same columns, so they can be
   * sent as one statement.
   */
  readonly insertInto?: InsertInto;
}

export interface InsertInto {
  readonly table: string;
  /** In the order of the parameters. */
  readonly columns: readonly string[];
  /** The parameter of this column is a list as JSON: there is a row for each of its items. */
  readonly each?: string;
}

/** How an engine reads. A read sees all writes before it. */
export interface SqlReader {
  /** Reads a few rows by an index. */
  find<T>(statement: Statement): Promise<T[]>;
  /** Runs a statement that may take long. Verifications do not wait for it. */
  scan<T>(statement: Statement): Promise<T[]>;
}

/**
 * How an engine writes what is not a change of a record: all statements in one transaction. Returns how many rows each statement changed.
 * Null: one of them changed a wrong number of rows, so nothing was written.
 */
export interface SqlWriter {
  write(statements: readonly WriteStatement[]): Promise<readonly number[] | null>;
  /** Writes a statement that no state of the database can refuse. It may share its transaction with others of this kind. */
  share(statement: WriteStatement & { readonly expects: null }): Promise<number>;
}

export function placeholders(count: number, first = 1): string {
  return Array.from({ length: count }, (_, i) => `$${first + i}`).join(', ');
}

export function insert(table: string, columns: Readonly<Record<string, Params[number]>>): WriteStatement {
  const names = Object.keys(columns);
  const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${placeholders(names.length)})`;
  return { sql, params: Object.values(columns), expects: null, insertInto: { table, columns: names } };
}

/** A row for each of these values of the last column. A thousand records have up to a hundred thousand of them. */
export function insertEach(
  table: string,
  columns: Readonly<Record<string, Params[number]>>,
  [name, values]: readonly [name: string, values: readonly string[]],
): WriteStatement {
  const names = [...Object.keys(columns), name];
  const others = placeholders(names.length - 1);
  return {
    sql: `INSERT INTO ${table} (${names.join(', ')}) SELECT ${others}, value FROM json_each($${names.length})`,
    params: [...Object.values(columns), JSON.stringify(values)],
    expects: null,
    insertInto: { table, columns: names, each: name },
  };
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

/** One insert of several rows, which all have the same columns. */
export function insertRows(table: string, rows: readonly Readonly<Record<string, Params[number]>>[]): WriteStatement {
  const names = Object.keys(rows[0] ?? {});
  const values = rows.map((_, i) => `(${placeholders(names.length, i * names.length + 1)})`);
  const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES ${values.join(', ')}`;
  return { sql, params: rows.flatMap((row) => Object.values(row)), expects: null };
}

export function remove(table: string, where: Readonly<Record<string, Params[number]>>): WriteStatement {
  const fits = Object.keys(where).map((name, i) => `${name} = $${i + 1}`);
  return {
    sql: `DELETE FROM ${table} WHERE ${fits.join(' AND ')}`,
    params: Object.values(where),
    expects: 1,
  };
}
