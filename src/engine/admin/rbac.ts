import { MAX_PERMISSIONS, MAX_PERMISSIONS_PER_KEY, MAX_ROLES, MAX_ROLES_PER_KEY } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { PermissionRecord, RoleRecord } from '../../core/records.ts';
import type { AuditEvent, RecordWrite } from '../../storage/recordsPort.ts';
import { requireEverywhere } from './access.ts';
import type { Actor } from './actor.ts';
import { auditEvent } from './audit.ts';
import type { RbacReference } from './keyInput.ts';
import type { AdminParts } from './parts.ts';
import { RbacNames } from './rbacNames.ts';

/** What references stand for, and what has to be written so that all of them do. */
export interface Resolved<T> {
  readonly records: readonly T[];
  readonly writes: readonly RecordWrite[];
  readonly events: readonly AuditEvent[];
}

/** What to say of one that does not exist: a plain reference is NOT_FOUND, one in an import is a precondition. */
type OrFail = 'NOT_FOUND' | 'PRECONDITION_FAILED';

/** Finds, and makes where that is asked for, the roles and permissions that a request names. */
export class RbacReferences {
  readonly #parts: AdminParts;

  constructor(parts: AdminParts) {
    this.#parts = parts;
  }

  async permissions(
    actor: Actor,
    references: readonly RbacReference[],
    orFail: OrFail = 'NOT_FOUND',
  ): Promise<Resolved<PermissionRecord>> {
    if (references.length === 0) return { records: [], writes: [], events: [] };
    if (references.length > MAX_PERMISSIONS_PER_KEY) throw tooManyNamed('permissions', MAX_PERMISSIONS_PER_KEY);
    const known = new RbacNames(await this.#parts.storage.records.listPermissions());
    const made: PermissionRecord[] = [];
    const records = references.map((reference) => {
      const found = known.find(reference);
      if (found !== undefined) return found;
      const name = nameToMake(reference, reference.name ?? reference.slug);
      if (name === null) throw unknownReference('permission', reference, orFail);
      const permission = this.newPermission(actor, { name, slug: reference.slug ?? name, description: null }, known);
      known.add(permission);
      made.push(permission);
      return permission;
    });
    return {
      records: unique(records),
      writes: made.map((permission) => ({ kind: 'insertPermission', permission })),
      events: made.map((permission) => permissionCreated(actor, permission)),
    };
  }

  async roles(
    actor: Actor,
    references: readonly RbacReference[],
    orFail: OrFail = 'NOT_FOUND',
  ): Promise<Resolved<RoleRecord>> {
    if (references.length === 0) return { records: [], writes: [], events: [] };
    if (references.length > MAX_ROLES_PER_KEY) throw tooManyNamed('roles', MAX_ROLES_PER_KEY);
    const known = new RbacNames(await this.#parts.storage.records.listRoles());
    const made: RoleRecord[] = [];
    const records = references.map((reference) => {
      const found = known.find(reference);
      if (found !== undefined) return found;
      const name = nameToMake(reference, reference.name);
      if (name === null) throw unknownReference('role', reference, orFail);
      const role = this.newRole(actor, { name, description: null }, known);
      known.add(role);
      made.push(role);
      return role;
    });
    return {
      records: unique(records),
      writes: made.map((role) => ({ kind: 'insertRole', role })),
      events: made.map((role) => roleCreated(actor, role)),
    };
  }

  newPermission(
    actor: Actor,
    fields: Pick<PermissionRecord, 'name' | 'slug' | 'description'>,
    known: RbacNames<PermissionRecord>,
  ): PermissionRecord {
    requireEverywhere(actor, 'rbac.create_permission');
    const taken = [fields.name, fields.slug].find((text) => known.isTaken(text));
    if (taken !== undefined) {
      throw new AppError('CONFLICT', `There is a permission with the name or slug ${repeatable(taken)} already.`);
    }
    if (known.count >= MAX_PERMISSIONS) throw tooManyHeld('permissions', MAX_PERMISSIONS);
    return { id: this.#id('perm'), ...fields, createdAtMs: this.#parts.storage.ledger.nowMs() };
  }

  newRole(actor: Actor, fields: Pick<RoleRecord, 'name' | 'description'>, known: RbacNames<RoleRecord>): RoleRecord {
    requireEverywhere(actor, 'rbac.create_role');
    if (known.isTaken(fields.name)) {
      throw new AppError('CONFLICT', `There is a role with the name ${repeatable(fields.name)} already.`);
    }
    if (known.count >= MAX_ROLES) throw tooManyHeld('roles', MAX_ROLES);
    const createdAtMs = this.#parts.storage.ledger.nowMs();
    return { id: this.#id('role'), ...fields, permissionIds: [], createdAtMs, revision: 0 };
  }

  #id(prefix: 'perm' | 'role'): string {
    const { storage, system } = this.#parts;
    return makeId(prefix, storage.ledger.nowMs(), system.randomBytes(ID_RANDOM_BYTES));
  }
}

export function permissionFacts({ name, slug, description }: PermissionRecord): Record<string, unknown> {
  return { name, slug, description };
}

export function permissionCreated(actor: Actor, permission: PermissionRecord): AuditEvent {
  const after = permissionFacts(permission);
  return auditEvent(actor, { action: 'permission.create', target: permission.id, before: null, after });
}

export function roleCreated(actor: Actor, { id, name, description }: RoleRecord): AuditEvent {
  return auditEvent(actor, { action: 'role.create', target: id, before: null, after: { name, description } });
}

/** Ids are ours to give: one that leads nowhere makes nothing, whatever stands beside it. */
function nameToMake({ id, create }: RbacReference, name: string | undefined): string | null {
  return create === true && id === undefined && name !== undefined ? name : null;
}

function unique<T extends { id: string }>(records: readonly T[]): T[] {
  return [...new Map(records.map((record) => [record.id, record])).values()];
}

export function unknownReference(what: string, { id, name, slug, create }: RbacReference, code: OrFail): AppError {
  const named = repeatable(id ?? slug ?? name ?? '');
  const canBeMade = id === undefined && create === undefined && code === 'NOT_FOUND';
  const hint = canBeMade ? ' Give create: true with its name to make it.' : '';
  return new AppError(code, `There is no ${what} ${named}.${hint}`);
}

function tooManyNamed(what: string, max: number): AppError {
  return new AppError('BAD_REQUEST', `At most ${max} ${what} can be named at once.`);
}

function tooManyHeld(what: string, max: number): AppError {
  return new AppError('PRECONDITION_FAILED', `There are ${max} ${what} already, which is the most there can be.`);
}
