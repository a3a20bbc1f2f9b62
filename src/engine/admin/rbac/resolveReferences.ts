import { MAX_PERMISSIONS, MAX_PERMISSIONS_PER_KEY, MAX_ROLES, MAX_ROLES_PER_KEY } from '../../../core/bounds.ts';
import { AppError, repeatable } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { PermissionRecord, RoleRecord } from '../../../model/access.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';
import type { FoundRole, NamedQuery } from '../../../storage/port/records.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';
import { requireEverywhere } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import { EffectivePermissions } from './effectivePermissions.ts';
import type { RbacReference } from './rbacNames.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { RbacNames } from './rbacNames.ts';

/** References that are looked up at one time. */
const MAX_LOOKED_UP = 10_000;

/** The records that references name, and the writes and entries that create those that do not exist yet. */
export interface Resolved<T> {
  readonly records: readonly T[];
  readonly writes: readonly RecordWrite[];
  readonly entries: readonly AuditEntry[];
}

/** The roles and direct permissions that a request names for a key. */
export interface NamedGrants {
  /** Replaces all roles of the key; `permissions` replaces all its direct permissions. */
  readonly roles?: readonly RbacReference[] | null;
  readonly permissions?: readonly RbacReference[] | null;
}

/** The error for a reference to nothing: NOT_FOUND, or PRECONDITION_FAILED in an import, which creates no roles or permissions. */
export type OrFail = 'NOT_FOUND' | 'PRECONDITION_FAILED';

/** The roles and permissions that several references name, read at once. */
export interface KnownReferences {
  readonly roles: RbacNames<FoundRole>;
  readonly permissions: RbacNames<PermissionRecord>;
  readonly effective: EffectivePermissions;
  /** How many are stored, once they were counted, and how many the keys create together. */
  readonly counts: Record<'permissions' | 'roles', { held: number | null; made: number }>;
}

export interface Resolving {
  readonly orFail?: OrFail;
  /** null = nothing was read yet. */
  readonly known?: KnownReferences | null;
  /** Accepts roles that cannot be read. Such a role can be removed from a key, but not given to it. */
  readonly takesBroken?: boolean;
}

/** Finds the roles and permissions that a request names, and creates those that it asks to create. */
export class ResolveReferences {
  readonly #context: AdminContext;

  constructor(context: AdminContext) {
    this.#context = context;
  }

  async permissions(
    actor: Actor,
    references: readonly RbacReference[],
    { orFail = 'NOT_FOUND', known = null }: Resolving = {},
  ): Promise<Resolved<PermissionRecord>> {
    if (references.length > MAX_PERMISSIONS_PER_KEY) throw tooManyNamed('permissions', MAX_PERMISSIONS_PER_KEY);
    const names = known?.permissions ?? (await this.readPermissions(references));
    const made: PermissionRecord[] = [];
    const records = references.map((reference) => {
      const found = names.find(reference);
      if (found !== undefined) return found;
      const name = nameToMake(reference, reference.name ?? reference.slug, orFail);
      if (name === null) throw unknownReference('permission', reference, orFail);
      const permission = this.newPermission(actor, { name, slug: reference.slug ?? name, description: null }, names);
      names.add(permission);
      made.push(permission);
      return permission;
    });
    const bound = await this.requireBelowMax('permissions', made.length, known);
    return {
      records: unique(records),
      writes: [...made.map((permission) => ({ kind: 'insertPermission', permission }) as const), ...bound],
      entries: made.map((permission) => permissionCreated(actor, permission)),
    };
  }

  async roles(
    actor: Actor,
    references: readonly RbacReference[],
    { orFail = 'NOT_FOUND', known = null, takesBroken = false }: Resolving = {},
  ): Promise<Resolved<RoleRecord>> {
    if (references.length > MAX_ROLES_PER_KEY) throw tooManyNamed('roles', MAX_ROLES_PER_KEY);
    const names = known?.roles ?? (await this.readRoles(references));
    const made: RoleRecord[] = [];
    const records = references.map((reference) => {
      const found = names.find(reference);
      if (found !== undefined) return takesBroken ? found : readableRole(found);
      const name = nameToMake(reference, reference.name, orFail);
      if (name === null) throw unknownReference('role', reference, orFail);
      const role = this.newRole(actor, { name, description: null }, names);
      names.add({ ...role, broken: null });
      made.push(role);
      return role;
    });
    const bound = await this.requireBelowMax('roles', made.length, known);
    return {
      records: unique(records),
      writes: [...made.map((role) => ({ kind: 'insertRole', role }) as const), ...bound],
      entries: made.map((role) => roleCreated(actor, role)),
    };
  }

  /** Reads roles and permissions once for all keys that are created together. */
  async read(patches: readonly NamedGrants[]): Promise<KnownReferences> {
    const roles = await this.#findRoles(patches.flatMap((patch) => patch.roles ?? []));
    const permissions = await this.readPermissions(patches.flatMap((patch) => patch.permissions ?? []));
    const effective = new EffectivePermissions(this.#context.storage.records);
    effective.learn(roles);
    const counts = { permissions: { held: null, made: 0 }, roles: { held: null, made: 0 } };
    return { roles: new RbacNames(roles), permissions, effective, counts };
  }

  /** The permissions that exist among them, and any others that use their names. */
  async readPermissions(references: readonly RbacReference[]): Promise<RbacNames<PermissionRecord>> {
    return new RbacNames(await inParts(references, (named) => this.#context.storage.records.findPermissions(named)));
  }

  async readRoles(references: readonly RbacReference[]): Promise<RbacNames<FoundRole>> {
    return new RbacNames(await this.#findRoles(references));
  }

  #findRoles(references: readonly RbacReference[]): Promise<readonly FoundRole[]> {
    return inParts(references, (named) => this.#context.storage.records.findRoles(named));
  }

  /**
   * Refuses `count` more when there would be too many. `known`: further keys of the same change create some as well. Answers the write that
   * does so again when the change is carried out, because others may be made at the same time.
   */
  async requireBelowMax(
    what: 'permissions' | 'roles',
    count: number,
    known: KnownReferences | null = null,
  ): Promise<RecordWrite[]> {
    if (count === 0) return [];
    const { records } = this.#context.storage;
    const max = what === 'roles' ? MAX_ROLES : MAX_PERMISSIONS;
    const counts = known?.counts[what] ?? { held: null, made: 0 };
    counts.held ??= what === 'roles' ? await records.countRoles(max) : await records.countPermissions(max);
    counts.made += count;
    if (counts.held + counts.made > max) throw tooManyHeld(what, max);
    return [{ kind: 'requireAtMost', what, of: null, most: max }];
  }

  newPermission(
    actor: Actor,
    fields: Pick<PermissionRecord, 'name' | 'slug' | 'description'>,
    known: RbacNames<PermissionRecord>,
  ): PermissionRecord {
    requireEverywhere(actor, 'rbac.create_permission');
    const taken = [fields.name, fields.slug].find((text) => known.isTaken(text));
    if (taken !== undefined) {
      throw new AppError('CONFLICT', `A permission with the name or slug ${repeatable(taken)} exists already.`);
    }
    return { id: this.#id('perm'), ...fields, createdAtMs: this.#context.storage.ledger.nowMs() };
  }

  newRole(actor: Actor, fields: Pick<RoleRecord, 'name' | 'description'>, known: RbacNames<FoundRole>): RoleRecord {
    requireEverywhere(actor, 'rbac.create_role');
    if (known.isTaken(fields.name)) {
      throw new AppError('CONFLICT', `A role with the name ${repeatable(fields.name)} exists already.`);
    }
    const createdAtMs = this.#context.storage.ledger.nowMs();
    return { id: this.#id('role'), ...fields, permissionIds: [], createdAtMs, revision: 0 };
  }

  #id(prefix: 'perm' | 'role'): string {
    const { storage, system } = this.#context;
    return makeId(prefix, storage.ledger.nowMs(), system.randomBytes(ID_RANDOM_BYTES));
  }
}

export function auditedPermission({ name, slug, description }: PermissionRecord): Record<string, unknown> {
  return { name, slug, description };
}

export function permissionCreated(actor: Actor, permission: PermissionRecord): AuditEntry {
  const after = auditedPermission(permission);
  return auditEntry(actor, { action: 'permission.create', target: permission.id, before: null, after });
}

export function roleCreated(actor: Actor, { id, name, description }: RoleRecord): AuditEntry {
  return auditEntry(actor, { action: 'role.create', target: id, before: null, after: { name, description } });
}

/** A role that cannot be read is neither given to keys nor shown. */
export function readableRole<T extends FoundRole>(role: T): T {
  if (role.broken === null) return role;
  throw new AppError('INTERNAL_SERVER_ERROR', `The stored role ${role.id} cannot be read: ${role.broken}.`);
}

/** The name to create; null = create nothing. A reference with an unknown id never creates anything: the service chooses ids. */
function nameToMake({ id, create }: RbacReference, name: string | undefined, orFail: OrFail): string | null {
  const isMade = create === true && id === undefined && orFail === 'NOT_FOUND';
  return isMade && name !== undefined ? name : null;
}

/** An import may name 100,000. To put them in order takes long, so they are looked up in parts. */
async function inParts<T>(
  references: readonly RbacReference[],
  find: (named: NamedQuery) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (let i = 0; i < references.length; i += MAX_LOOKED_UP) {
    found.push(...(await find(namedBy(references.slice(i, i + MAX_LOOKED_UP)))));
  }
  return found;
}

/** In a reference with an id, name and slug are ignored. */
function namedBy(references: readonly RbacReference[]): NamedQuery {
  const named = references.flatMap(({ id, name, slug }) => (id === undefined ? [name ?? [], slug ?? []].flat() : []));
  return { ids: references.flatMap(({ id }) => id ?? []), names: named };
}

function unique<T extends { id: string }>(records: readonly T[]): T[] {
  return [...new Map(records.map((record) => [record.id, record])).values()];
}

export function unknownReference(what: string, { id, name, slug, create }: RbacReference, code: OrFail): AppError {
  const named = repeatable(id ?? slug ?? name ?? '');
  const canBeMade = id === undefined && create === undefined && code === 'NOT_FOUND';
  const hint = canBeMade ? ' Send create: true with its name to create it.' : '';
  return new AppError(code, `There is no ${what} ${named}.${hint}`);
}

function tooManyNamed(what: string, max: number): AppError {
  return new AppError('BAD_REQUEST', `At most ${max} ${what} can be named at once.`);
}

function tooManyHeld(what: string, max: number): AppError {
  return new AppError('PRECONDITION_FAILED', `There are ${max} ${what} already, which is the maximum.`);
}
