import { Type } from 'typebox';

import { MAX_DESCRIPTION_LENGTH } from '../../core/bounds.ts';
import type { Issue } from '../../core/errors.ts';
import type { PermissionRecord, RoleRecord } from '../../core/records.ts';
import type { RbacReference } from '../../engine/admin/rbac/rbacNames.ts';
import { badFields, checkedReferences } from './keyFields.ts';
import { strict, words } from './schemas.ts';

/** An empty description counts as none. */
export const Description = words(0, MAX_DESCRIPTION_LENGTH);

export const PermissionObject = strict({
  id: Type.String(),
  name: Type.String(),
  slug: Type.String(),
  description: Type.Optional(Type.String()),
});

export const RoleObject = strict({
  id: Type.String(),
  name: Type.String(),
  description: Type.Optional(Type.String()),
});

/** The roles or permissions that a key or role has after a change, sorted by name. */
export const NamedObjects = Type.Array(strict({ id: Type.String(), name: Type.String() }));

export function toPermissionObject({ id, name, slug, description }: PermissionRecord): object {
  return { id, name, slug, ...(description === null ? {} : { description }) };
}

export function toRoleObject({ id, name, description }: RoleRecord): object {
  return { id, name, ...(description === null ? {} : { description }) };
}

export function toDescription(description: string | undefined): string | null {
  return description === undefined || description === '' ? null : description;
}

/** Each reference has an id or a name. Problems are reported together with `issues`. */
export function toReferences(
  list: readonly RbacReference[],
  path: 'permissions' | 'roles',
  issues: Issue[] = [],
): readonly RbacReference[] {
  checkedReferences(list, path, issues);
  if (issues.length > 0) throw badFields(issues);
  return list;
}
