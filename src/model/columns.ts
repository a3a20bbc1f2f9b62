/**
 * How the fields of a record are stored, said once for both databases. A field has one column, or several where a database searches by a
 * part of it. From the declaration come the columns of the tables, how rows are read and written, and what an export holds. What is a
 * decision (indexes, queries, the ledger) stays by hand.
 */

export type Cell = string | number | null;

/** A row by its columns. */
export type Row = Readonly<Record<string, Cell>>;

export interface Column {
  readonly name: string;
  /** `small`: a number that PostgreSQL keeps as an integer. */
  readonly kind: 'text' | 'number' | 'small';
  readonly isOptional: boolean;
  readonly constraint: '' | ' PRIMARY KEY' | ' UNIQUE' | ' DEFAULT 0';
  /** It is written for an index, and never read. */
  readonly isOnlyIndexed: boolean;
  /** The schema version that brings it. After the first one it may be null or has a default, because there are rows. */
  readonly since: Since;
}

/** A schema version of each database. */
export interface Since {
  readonly sqlite: number;
  readonly postgres: number;
}

/** The column is made with its table. */
const FROM_THE_START: Since = { sqlite: 1, postgres: 1 };

/** A field that is stored. */
export interface Stored<T> {
  readonly columns: readonly Column[];
  /** From the cells of the columns that are read. */
  read(first: Cell, second: Cell): T;
  /** To a cell for each column. */
  write(value: T): readonly Cell[];
}

class UnreadableRow extends Error {}

/** Throws when the JSON of a cell is not what its field holds. The row is then unreadable, and the error names the field. */
export function requireReadable(holds: boolean): void {
  if (!holds) throw new UnreadableRow();
}

type ColumnFacts = Partial<Omit<Column, 'name' | 'kind'>>;

export function column(name: string, kind: Column['kind'], facts: ColumnFacts = {}): Column {
  return { name, kind, isOptional: false, constraint: '', isOnlyIndexed: false, since: FROM_THE_START, ...facts };
}

/** A column whose cell is the value. */
function plain<T extends Cell>(only: Column): Stored<T> {
  return { columns: [only], read: (cell) => cell as T, write: (value) => [value] };
}

export const text = (name: string): Stored<string> => plain(column(name, 'text'));
export const key = (name: string): Stored<string> => plain(column(name, 'text', { constraint: ' PRIMARY KEY' }));
export const uniqueText = (name: string): Stored<string> => plain(column(name, 'text', { constraint: ' UNIQUE' }));
export const optionalText = (name: string, facts: ColumnFacts = {}): Stored<string | null> =>
  plain(column(name, 'text', { isOptional: true, ...facts }));
export const number = (name: string): Stored<number> => plain(column(name, 'number'));
export const numberFrom0 = (name: string): Stored<number> =>
  plain(column(name, 'number', { constraint: ' DEFAULT 0' }));
export const optionalNumber = (name: string): Stored<number | null> =>
  plain(column(name, 'number', { isOptional: true }));

/** true is 1. */
export function flag(name: string, facts: ColumnFacts = {}): Stored<boolean> {
  return {
    columns: [column(name, 'small', facts)],
    read: (cell) => cell === 1,
    write: (value) => [value ? 1 : 0],
  };
}

/** What JSON text holds. `read` checks it. */
export function json<T>(name: string, read: (text: string) => T): Stored<T> {
  return {
    columns: [column(name, 'text')],
    read: (cell) => read(String(cell)),
    write: (value) => [JSON.stringify(value)],
  };
}

export function optionalJson<T>(name: string, read: (text: string) => T): Stored<T | null> {
  return {
    columns: [column(name, 'text', { isOptional: true })],
    read: (cell) => (cell === null ? null : read(String(cell))),
    write: (value) => [value === null ? null : JSON.stringify(value)],
  };
}

/** A list as JSON. An empty one is null. */
export function list<T>(name: string, read: (text: string) => readonly T[]): Stored<readonly T[]> {
  const none: readonly T[] = [];
  return {
    columns: [column(name, 'text', { isOptional: true })],
    read: (cell) => (cell === null ? none : read(String(cell))),
    write: (value) => [value.length === 0 ? null : JSON.stringify(value)],
  };
}

/** A list of texts as JSON. */
export function texts(name: string): Stored<readonly string[]> {
  return list(name, (cell) => {
    const found = JSON.parse(cell) as unknown;
    requireReadable(Array.isArray(found) && found.every((entry) => typeof entry === 'string'));
    return found as string[];
  });
}

type Fields = Readonly<Record<string, Stored<never>>>;

export interface RecordTable<F = Fields> {
  readonly name: string;
  readonly fields: F;
  readonly columns: readonly Column[];
}

/** The record of a table. */
export type RecordOf<T> =
  T extends RecordTable<infer F> ? { readonly [K in keyof F]: F[K] extends Stored<infer V> ? V : never } : never;

export function recordTable<F>(name: string, fields: F): RecordTable<F> {
  return { name, fields, columns: fieldsOf({ fields }).flatMap(([, field]) => field.columns) };
}

function fieldsOf(table: { readonly fields: unknown }): (readonly [string, Stored<unknown>])[] {
  return Object.entries(table.fields as Record<string, Stored<unknown>>);
}

/** Reads rows of a table, whose columns have this prefix where they are joined to others. */
export function rowReader<F>(table: RecordTable<F>, prefix = ''): (row: object) => RecordOf<RecordTable<F>> {
  const fields = fieldsOf(table).map(([member, field]) => {
    const names = field.columns.filter(({ isOnlyIndexed }) => !isOnlyIndexed).map(({ name }) => `${prefix}${name}`);
    return { member, field, first: names[0] ?? '', second: names[1] ?? '', inTable: field.columns[0]?.name ?? '' };
  });
  return (row) => {
    const cells = row as Row;
    const record: Record<string, unknown> = {};
    let reading = '';
    try {
      for (const { member, field, first, second, inTable } of fields) {
        reading = inTable;
        record[member] = field.read(cells[first] as Cell, cells[second] as Cell);
      }
    } catch {
      throw new UnreadableRow(`${reading} cannot be read`);
    }
    return record as RecordOf<RecordTable<F>>;
  };
}

/** The row of a record. */
export function toRow<F>(table: RecordTable<F>, record: RecordOf<RecordTable<F>>): Record<string, Cell> {
  const values = record as Readonly<Record<string, unknown>>;
  const row: Record<string, Cell> = {};
  for (const [member, field] of fieldsOf(table)) {
    const cells = field.write(values[member]);
    for (const [i, { name }] of field.columns.entries()) row[name] = cells[i] ?? null;
  }
  return row;
}

/** `i.name AS i_name, ...`: the columns of a joined table that are read. */
export function joinedColumns({ columns }: Pick<RecordTable, 'columns'>, alias: string, prefix: string): string {
  const read = columns.filter(({ isOnlyIndexed }) => !isOnlyIndexed);
  return read.map(({ name }) => `${alias}.${name} AS ${prefix}${name}`).join(', ');
}

/** How a database writes each kind of column. */
export interface Dialect {
  readonly engine: keyof Since;
  readonly types: Readonly<Record<Column['kind'], string>>;
}

type Table = Pick<RecordTable, 'name' | 'columns'>;

/** The columns that make a table, for CREATE TABLE. */
export function columnsText({ columns }: Pick<Table, 'columns'>, { engine, types }: Dialect): string {
  const made = columns.filter(({ since }) => since[engine] === 1);
  return made.map((each) => `    ${columnText(each, types)}`).join(',\n');
}

/** The statements that add the columns of each later schema version, by its number. */
export function addedColumns(tables: readonly Table[], { engine, types }: Dialect): Map<number, string> {
  const added = new Map<number, string>();
  for (const { name, columns } of tables) {
    for (const each of columns) {
      const version = each.since[engine];
      if (version === 1) continue;
      if ((!each.isOptional && each.constraint !== ' DEFAULT 0') || each.constraint === ' UNIQUE')
        throw new Error(`${name}.${each.name} is added to rows that exist: it must be optional, or have a default.`);
      const statement = `ALTER TABLE ${name} ADD COLUMN ${columnText(each, types)};\n`;
      added.set(version, (added.get(version) ?? '') + statement);
    }
  }
  return added;
}

function columnText({ name, kind, isOptional, constraint }: Column, types: Dialect['types']): string {
  const isPrimary = constraint === ' PRIMARY KEY';
  return `${name} ${types[kind]}${isOptional || isPrimary ? '' : ' NOT NULL'}${constraint}`;
}
