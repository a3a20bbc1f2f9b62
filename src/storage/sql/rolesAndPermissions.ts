import type { PermissionRecord } from '../../model/access.ts';
import type { FoundRole, NamedQuery } from '../port/records.ts';
import { type RecordRow, toFoundRole, toPermission } from './query/recordRows.ts';
import { placeholders, type SqlReader, type Statement } from './query/statement.ts';

/** Values in one statement. */
const MAX_VALUES = 500;

export async function findPermissions(reader: SqlReader, named: NamedQuery): Promise<readonly PermissionRecord[]> {
  return (await readNamed<RecordRow>(reader, named, { table: 'permissions', texts: ['name', 'slug'] })).map(
    toPermission,
  );
}

export async function findRoles(reader: SqlReader, named: NamedQuery): Promise<readonly FoundRole[]> {
  return (await readNamed<RecordRow>(reader, named, { table: 'roles', texts: ['name'] })).map(toFoundRole);
}

interface Named {
  readonly table: string;
  /** The columns that are searched. Each is unique. */
  readonly texts: readonly string[];
}

/** Reads rows by unique indexes. Several statements may take long; then they run where verifications do not wait for them. */
async function readNamed<T extends { id: string }>(
  reader: SqlReader,
  { ids, names }: NamedQuery,
  { table, texts }: Named,
): Promise<T[]> {
  const statements = [...statementsFor(table, ['id'], ids), ...statementsFor(table, texts, names)];
  const isLong = ids.length + names.length > MAX_VALUES;
  const found = new Map<string, T>();
  for (const statement of statements) {
    const rows = isLong ? await reader.scan<T>(statement) : await reader.find<T>(statement);
    for (const row of rows) found.set(row.id, row);
  }
  return [...found.values()];
}

function statementsFor(table: string, columns: readonly string[], values: readonly string[]): Statement[] {
  // Sorting, because a caller can choose texts that all collide in a Set, and an import may name 100,000.
  const all = values.toSorted().filter((value, i, sorted) => i === 0 || value !== sorted[i - 1]);
  const statements: Statement[] = [];
  for (let i = 0; i < all.length; i += MAX_VALUES) {
    const params = all.slice(i, i + MAX_VALUES);
    const conditions = columns.map((column) => `${column} IN (${placeholders(params.length)})`);
    statements.push({ sql: `SELECT * FROM ${table} WHERE ${conditions.join(' OR ')}`, params });
  }
  return statements;
}
