import type { Grant } from '../../../core/permissions.ts';
import type { KeyPermissions, KeyWithIdentity, PoisonedKey } from '../../port/records.ts';
import { findAny } from '../query/findAny.ts';
import type { ReadKey } from './keyRows.ts';
import { type RecordRow, toPermission, toFoundRole } from '../query/recordRows.ts';
import type { SqlReader } from '../query/statement.ts';

const ROLES = { select: 'SELECT * FROM roles', column: 'id' };
const PERMISSIONS = { select: 'SELECT * FROM permissions', column: 'id' };

/** What roles and permissions are given to: a key or a plan. */
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
 * The roles and permissions of each holder; null = none. Two reads for all holders together, and none when no holder has any. Ids of
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
