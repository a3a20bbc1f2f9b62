import { notFound } from '../../../core/errors.ts';
import type { NewPermission, NewRole, PermissionRecord, RoleRecord } from '../../../model/access.ts';
import type { Operation } from '../../../core/rights.ts';
import type { FoundRole } from '../../../storage/port/records.ts';
import { type Actor, requireEverywhere, requireOn } from '../change/requireRight.ts';
import { auditEntry } from '../audit.ts';
import {
  auditedPermission,
  auditedRole,
  isSameSet,
  type Named,
  namedOf,
  permissionCreated,
  type RbacReference,
  readableRole,
  ResolveReferences,
  roleCreated,
  unknownReference,
} from './rbacReferences.ts';
import type { AdminContext } from '../change/adminContext.ts';

export type RoleReference = { readonly id: string } | { readonly name: string };

/**
 * Manages permissions and the roles that bundle them. Keys and roles hold ids. So a deleted permission or role is gone from all of
 * them at once, and does not come back when another one with its name is created.
 */
export class PermissionAdmin {
  readonly #context: AdminContext;
  readonly #references: ResolveReferences;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#references = new ResolveReferences(context);
  }

  async createPermission(actor: Actor, fields: NewPermission): Promise<string> {
    requireEverywhere(actor, 'rbac.create_permission');
    return this.#context.changes.apply(async () => {
      const known = await this.#references.readPermissions([{ name: fields.name, slug: fields.slug }]);
      const permission = this.#references.newPermission(actor, fields, known);
      const bound = await this.#references.requireBelowMax('permissions', 1);
      return {
        change: {
          writes: [{ kind: 'insertPermission', permission }, ...bound],
          accounts: [],
          entries: [permissionCreated(actor, permission)],
        },
        answer: () => permission.id,
      };
    });
  }

  getPermission(actor: Actor, permissionId: string): Promise<PermissionRecord> {
    return this.#loadPermission(actor, 'rbac.read_permission', permissionId);
  }

  async listPermissions(actor: Actor): Promise<readonly PermissionRecord[]> {
    requireEverywhere(actor, 'rbac.read_permission');
    return this.#context.storage.records.listPermissions();
  }

  async deletePermission(actor: Actor, permissionId: string): Promise<void> {
    await this.#context.changes.apply(async () => {
      const before = auditedPermission(await this.#loadPermission(actor, 'rbac.delete_permission', permissionId));
      const entry = auditEntry(actor, { action: 'permission.delete', target: permissionId, before, after: null });
      return {
        change: { writes: [{ kind: 'removePermission', permissionId }], accounts: [], entries: [entry] },
        answer: () => undefined,
      };
    });
  }

  async createRole(actor: Actor, fields: NewRole): Promise<string> {
    requireEverywhere(actor, 'rbac.create_role');
    return this.#context.changes.apply(async () => {
      const known = await this.#references.readRoles([{ name: fields.name }]);
      const role = this.#references.newRole(actor, fields, known);
      const bound = await this.#references.requireBelowMax('roles', 1);
      return {
        change: { writes: [{ kind: 'insertRole', role }, ...bound], accounts: [], entries: [roleCreated(actor, role)] },
        answer: () => role.id,
      };
    });
  }

  /** The role with its permissions, sorted by name. */
  async getRole(actor: Actor, roleId: string): Promise<{ role: RoleRecord; permissions: readonly Named[] }> {
    requireOn(actor, 'rbac.read_role', roleId, 'role', roleId);
    const role = readableRole(await this.#loadRole({ id: roleId }));
    const ids = role.permissionIds;
    const held = ids.length === 0 ? [] : await this.#context.storage.records.findPermissions({ ids, names: [] });
    return { role, permissions: namedOf(held) };
  }

  async listRoles(actor: Actor): Promise<readonly RoleRecord[]> {
    requireEverywhere(actor, 'rbac.read_role');
    return this.#context.storage.records.listRoles();
  }

  async deleteRole(actor: Actor, roleId: string): Promise<void> {
    requireOn(actor, 'rbac.delete_role', roleId, 'role', roleId);
    await this.#context.changes.apply(async () => {
      const role = await this.#loadRole({ id: roleId });
      const before = { ...auditedRole(role), permissionIds: role.permissionIds };
      const entry = auditEntry(actor, { action: 'role.delete', target: roleId, before, after: null });
      return {
        change: { writes: [{ kind: 'removeRole', roleId, expect: role.revision }], accounts: [], entries: [entry] },
        answer: () => undefined,
      };
    });
  }

  /** Replaces all permissions of the role and answers them, sorted by name. This also repairs a role that cannot be read. */
  async setRolePermissions(
    actor: Actor,
    reference: RoleReference,
    permissions: readonly RbacReference[],
  ): Promise<readonly Named[]> {
    requireEverywhere(actor, 'rbac.add_permission_to_role');
    requireEverywhere(actor, 'rbac.remove_permission_from_role');
    return this.#context.changes.apply(async () => {
      const { broken, ...before } = await this.#loadRole(reference);
      const held = await this.#permissionsOf(before);
      const { records, writes, entries } = await this.#references.permissions(actor, permissions);
      const answer = () => namedOf(records);
      // A call that changes nothing writes nothing, and keys stay in the cache.
      if (broken === null && isSameSet(held, records)) return { change: { writes: [], accounts: [] }, answer };
      const permissionIds = records.map(({ id }) => id);
      const role: RoleRecord = { ...before, permissionIds, revision: before.revision + 1 };
      const entry = auditEntry(actor, {
        action: 'role.setPermissions',
        target: role.id,
        before: { permissions: namedOf(held) },
        after: { permissions: namedOf(records) },
      });
      return {
        change: {
          writes: [...writes, { kind: 'updateRole', role, expect: before.revision }],
          accounts: [],
          entries: [...entries, entry],
        },
        answer,
      };
    });
  }

  /** The permissions of the role that still exist. */
  async #permissionsOf({ permissionIds }: RoleRecord): Promise<readonly PermissionRecord[]> {
    return this.#context.storage.records.findPermissions({ ids: permissionIds, names: [] });
  }

  async #loadPermission(actor: Actor, operation: Operation, permissionId: string): Promise<PermissionRecord> {
    requireOn(actor, operation, permissionId, 'permission', permissionId);
    const [found] = await this.#context.storage.records.findPermissions({ ids: [permissionId], names: [] });
    if (found === undefined) throw notFound('permission', permissionId);
    return found;
  }

  async #loadRole(reference: RoleReference): Promise<FoundRole> {
    const found = (await this.#references.readRoles([reference])).find(reference);
    if (found !== undefined) return found;
    throw 'id' in reference
      ? notFound('role', reference.id)
      : unknownReference('role', { ...reference, create: false }, 'NOT_FOUND');
  }
}
