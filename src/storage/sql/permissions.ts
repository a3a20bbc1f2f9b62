import type { Grant } from '../../core/permissions.ts';
import type { PermissionRecord } from '../../model/access.ts';
import type { FoundRole, KeyPermissions, KeyWithIdentity, NamedQuery, PoisonedKey } from '../port/records.ts';
import type { ReadKey } from './keyRows.ts';
import { findAny } from './query/queries.ts';
import { type RecordRow, toFoundRole, toPermission } from './query/recordRows.ts';
import { placeholders, type SqlReader, type Statement } from './query/statement.ts';

const ROLES = { select: 'SELECT * FROM roles', column: 'id' };
const PERMISSIONS = { select: 'SELECT * FROM permissions', column: 'id' };

/** A record that has roles and permissions: a key or a plan. */
interface Holder {
  readonly roleIds: readonly string[];
  readonly permissionIds: readonly string[];
}

/** Adds their roles and permissions to keys. */
export async function withPermissions(
  reader: SqlReader,
  keys: readonly (ReadKey | PoisonedKey)[],
): Promise<(KeyWithIdentity | PoisonedKey)[]> {
  const readable = keys.flatMap((each) => ('poisoned' in each ? [] : each));
  const permissions = await readPermissions(
    reader,
    readable.map(({ key }) => key),
  );
  const permissionsOf = new Map(readable.map((each, i) => [each, permissions[i] ?? null]));
  return keys.map((each) => ('poisoned' in each ? each : { ...each, permissions: permissionsOf.get(each) ?? null }));
}

/**
 * The roles and permissions of each holder; null = none. It takes two reads for all holders together, and none if no holder has any. Ids of
 * deleted roles and permissions are left out. A role that cannot be read affects only the holders that have it.
 */
export async function readPermissions(
  reader: SqlReader,
  holders: readonly Holder[],
): Promise<(KeyPermissions | null)[]> {
  const roleIds = new Set(holders.flatMap((holder) => holder.roleIds));
  const roleRows = await findAny<RecordRow>(reader, ROLES, [...roleIds]);
  const roles = new Map(roleRows.map((row) => [row.id, toFoundRole(row)]));
  const permissionIds = new Set(holders.flatMap((holder) => holder.permissionIds));
  for (const role of roles.values()) for (const id of role.permissionIds) permissionIds.add(id);
  const rows = (await findAny<RecordRow>(reader, PERMISSIONS, [...permissionIds])).map(toPermission);
  const permissionById = new Map(rows.map(({ id, name, slug }) => [id, { id, name, slug }]));
  return holders.map((holder) => {
    const held = holder.roleIds.flatMap((id) => roles.get(id) ?? []);
    const direct = holder.permissionIds.flatMap((id) => permissionById.get(id) ?? []);
    if (held.length === 0 && direct.length === 0) return null;
    const grants = new Map<string, Grant>();
    const grant = (id: string, role: Grant['role']): void => {
      const slug = permissionById.get(id)?.slug;
      if (slug !== undefined && !grants.has(slug)) grants.set(slug, { slug, permissionId: id, role });
    };
    for (const id of holder.permissionIds) grant(id, null);
    for (const { id: roleId, revision, permissionIds: brought } of held) {
      const role = { id: roleId, revision };
      for (const id of brought) grant(id, role);
    }
    const found: KeyPermissions = {
      roles: held.flatMap(({ id, name, broken }) => (broken === null ? { id, name } : [])).toSorted(byName),
      direct: direct.toSorted(byName),
      grants: [...grants.values()].toSorted(bySlug),
    };
    const broken = held.flatMap(({ id, name, broken: reason }) => (reason === null ? [] : { id, name, reason }));
    return broken.length === 0 ? found : { ...found, broken };
  });
}

function bySlug(a: Grant, b: Grant): number {
  return a.slug < b.slug ? -1 : 1;
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}

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

/** Reads rows by unique indexes. Several statements may take long, so they run where verifications do not wait for them. */
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
  // Removes duplicates by sorting: a caller can choose texts that all collide in a Set, and an import may name 100,000.
  const all = values.toSorted().filter((value, i, sorted) => i === 0 || value !== sorted[i - 1]);
  const statements: Statement[] = [];
  for (let i = 0; i < all.length; i += MAX_VALUES) {
    const params = all.slice(i, i + MAX_VALUES);
    const conditions = columns.map((column) => `${column} IN (${placeholders(params.length)})`);
    statements.push({ sql: `SELECT * FROM ${table} WHERE ${conditions.join(' OR ')}`, params });
  }
  return statements;
}
