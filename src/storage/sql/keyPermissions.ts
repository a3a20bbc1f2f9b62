import type { Grant } from '../../core/permissions.ts';
import type { KeyPermissions, KeyWithIdentity, PoisonedKey } from '../port/records.ts';
import { findAny } from './findAny.ts';
import type { ReadKey } from './keyRows.ts';
import { type PermissionRow, type RoleRow, toFoundRole } from './recordRows.ts';
import type { SqlReader } from './statement.ts';

const ROLES = { select: 'SELECT * FROM roles', column: 'id' };
const PERMISSIONS = { select: 'SELECT * FROM permissions', column: 'id' };

/**
 * Adds their roles and permissions to keys: two reads for all keys together, and none when no key has any. Ids of deleted roles and
 * permissions are left out. A role that cannot be read affects only the keys that have it.
 */
export async function withPermissions(
  reader: SqlReader,
  keys: readonly (ReadKey | PoisonedKey)[],
): Promise<(KeyWithIdentity | PoisonedKey)[]> {
  const readable = keys.flatMap((each) => ('poisoned' in each ? [] : each.key));
  const roleIds = new Set(readable.flatMap((key) => key.roleIds));
  const roleRows = await findAny<RoleRow>(reader, ROLES, [...roleIds]);
  const roles = new Map(roleRows.map((row) => [row.id, toFoundRole(row)]));
  const permissionIds = new Set(readable.flatMap((key) => key.permissionIds));
  for (const role of roles.values()) for (const id of role.permissionIds) permissionIds.add(id);
  const rows = await findAny<PermissionRow>(reader, PERMISSIONS, [...permissionIds]);
  const permissionById = new Map(rows.map(({ id, name, slug }) => [id, { id, name, slug }]));
  return keys.map((each) => {
    if ('poisoned' in each) return each;
    const held = each.key.roleIds.flatMap((id) => roles.get(id) ?? []);
    const direct = each.key.permissionIds.flatMap((id) => permissionById.get(id) ?? []);
    if (held.length === 0 && direct.length === 0) return { ...each, permissions: null };
    const grants = new Map<string, Grant>();
    const grant = (id: string, role: Grant['role']): void => {
      const slug = permissionById.get(id)?.slug;
      if (slug !== undefined && !grants.has(slug)) grants.set(slug, { slug, permissionId: id, role });
    };
    for (const id of each.key.permissionIds) grant(id, null);
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
    return { ...each, permissions: broken.length === 0 ? found : { ...found, broken } };
  });
}

function bySlug(a: Grant, b: Grant): number {
  return a.slug < b.slug ? -1 : 1;
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}
