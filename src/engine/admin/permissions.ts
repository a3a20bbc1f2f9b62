import { notFound, AppError, repeatable } from '../../core/errors.ts';
import {
  type NewPermission,
  type NewRole,
  type PermissionRecord,
  type RoleRecord,
  PERMISSION_PLAIN,
  ROLE_PLAIN,
} from '../../model/access.ts';
import type { Operation } from '../../core/rights.ts';
import type { FoundRole, NamedQuery, Records } from '../../storage/port/records.ts';
import { type Actor, requireEverywhere, requireOn } from './change/requireRight.ts';
import { auditEntry } from './audit.ts';
import type { AdminContext } from './change/adminContext.ts';
import {
  MAX_PERMISSIONS,
  MAX_PERMISSIONS_PER_KEY,
  MAX_ROLES,
  MAX_ROLES_PER_KEY,
  MAX_EFFECTIVE_PERMISSIONS,
} from '../../core/bounds.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { auditPlain, part } from '../../model/plainFields.ts';
import type { AuditEntry } from '../../storage/port/auditEntries.ts';
import type { RecordWrite } from '../../storage/port/writes.ts';
import type { KeyRecord } from '../../model/keys.ts';

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

/** References that are looked up at one time. */
const MAX_LOOKED_UP = 10_000;

/** The records that references name, and the writes and entries that create those that do not exist yet. */
interface Resolved<T> {
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

interface Resolving {
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
      const permission = this.newPermission(actor, { name, slug: reference.slug ?? name }, names);
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
      const role = this.newRole(actor, { name }, names);
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

  newPermission(actor: Actor, fields: NewPermission, known: RbacNames<PermissionRecord>): PermissionRecord {
    requireEverywhere(actor, 'rbac.create_permission');
    const taken = [fields.name, fields.slug].find((text) => known.isTaken(text));
    if (taken !== undefined) {
      throw new AppError('CONFLICT', `A permission with the name or slug ${repeatable(taken)} exists already.`);
    }
    return {
      id: this.#id('perm'),
      ...part(PERMISSION_PLAIN, 'blank'),
      ...fields,
      createdAtMs: this.#context.storage.ledger.nowMs(),
    };
  }

  newRole(actor: Actor, fields: NewRole, known: RbacNames<FoundRole>): RoleRecord {
    requireEverywhere(actor, 'rbac.create_role');
    if (known.isTaken(fields.name)) {
      throw new AppError('CONFLICT', `A role with the name ${repeatable(fields.name)} exists already.`);
    }
    const createdAtMs = this.#context.storage.ledger.nowMs();
    return {
      id: this.#id('role'),
      ...part(ROLE_PLAIN, 'blank'),
      ...fields,
      permissionIds: [],
      createdAtMs,
      revision: 0,
    };
  }

  #id(prefix: 'perm' | 'role'): string {
    const { storage, system } = this.#context;
    return makeId(prefix, storage.ledger.nowMs(), system.randomBytes(ID_RANDOM_BYTES));
  }
}

function auditedPermission(permission: PermissionRecord): Record<string, unknown> {
  const { name, slug } = permission;
  return { name, slug, ...auditPlain(PERMISSION_PLAIN, permission) };
}

function auditedRole(role: RoleRecord): Record<string, unknown> {
  return { name: role.name, ...auditPlain(ROLE_PLAIN, role) };
}

function permissionCreated(actor: Actor, permission: PermissionRecord): AuditEntry {
  const after = auditedPermission(permission);
  return auditEntry(actor, { action: 'permission.create', target: permission.id, before: null, after });
}

function roleCreated(actor: Actor, role: RoleRecord): AuditEntry {
  return auditEntry(actor, { action: 'role.create', target: role.id, before: null, after: auditedRole(role) });
}

/** A role that cannot be read is neither given to keys nor shown. */
function readableRole<T extends FoundRole>(role: T): T {
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

function unknownReference(what: string, { id, name, slug, create }: RbacReference, code: OrFail): AppError {
  const named = repeatable(id ?? slug ?? name ?? '');
  const canBeMade = id === undefined && create === undefined && code === 'NOT_FOUND';
  const hint = canBeMade ? ' Send create: true with its name to create it.' : '';
  return new AppError(code, `There is no ${what} ${named}.${hint}`);
}

function tooManyNamed(what: string, max: number): AppError {
  return new AppError('BAD_REQUEST', `At most ${max} ${what} can be named at once.`);
}

function tooManyHeld(what: string, max: number): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    `There are ${max} ${what} already, which is the maximum. Delete some first.`,
  );
}

/** Names a role or permission by id, name or slug. With `create`, it is created when there is none. */
export interface RbacReference {
  readonly id?: string;
  readonly name?: string;
  readonly slug?: string;
  readonly create?: boolean;
}

interface Nameable {
  readonly id: string;
  readonly name: string;
  /** Permissions only. */
  readonly slug?: string;
}

/** Finds roles or permissions by id, name or slug. */
class RbacNames<T extends Nameable> {
  readonly #byId = new Map<string, T>();
  readonly #byName = new Map<string, T>();
  readonly #bySlug = new Map<string, T>();

  constructor(records: readonly T[]) {
    for (const record of records) this.add(record);
  }

  add(record: T): void {
    this.#byId.set(record.id, record);
    this.#byName.set(record.name, record);
    if (record.slug !== undefined) this.#bySlug.set(record.slug, record);
  }

  /**
   * An id goes before a slug, a slug before a name. A given name may also be a slug. Two nodes that create permissions at the same
   * instant can use one text as a name and as a slug; then the name wins.
   */
  find({ id, name = '', slug }: RbacReference): T | undefined {
    if (id !== undefined) return this.#byId.get(id);
    if (slug !== undefined) return this.#bySlug.get(slug);
    return this.#byName.get(name) ?? this.#bySlug.get(name);
  }

  /** The text is a name or a slug already. A second use, as either, would be ambiguous. */
  isTaken(text: string): boolean {
    return this.#byName.has(text) || this.#bySlug.has(text);
  }
}

/** A role or permission as answers and the audit log show it. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

/** Ids and names, sorted by name. */
export function namedOf(records: readonly Named[]): readonly Named[] {
  return records.map(({ id, name }) => ({ id, name })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Both lists contain the same records. Neither may contain one twice. */
export function isSameSet(some: readonly Named[], others: readonly Named[]): boolean {
  const ids = new Set(some.map(({ id }) => id));
  return some.length === others.length && others.every(({ id }) => ids.has(id));
}

/**
 * Counts the permissions that keys would have, their own and those of their roles; for one request, or for all keys of an import.
 * Permissions get numbers, so that counting a hundred keys with a hundred large roles each needs no set of texts per key.
 */
export class EffectivePermissions {
  readonly #records: Records;
  /** The number of each permission, by its id. */
  readonly #numbers = new Map<string, number>();
  readonly #ofRoles = new Map<string, readonly number[]>();
  /** By number: the last count that included the permission. Infinity = the permission was deleted and is never counted. */
  readonly #metIn: number[] = [];
  #counts = 0;
  /** For numbers below this one it is known whether the permission still exists. */
  #checked = 0;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Takes over roles that were read already. */
  learn(roles: readonly RoleRecord[]): void {
    for (const { id, permissionIds } of roles) {
      if (!this.#ofRoles.has(id)) this.#ofRoles.set(id, this.#numbersOf(permissionIds));
    }
  }

  /** Refuses a key with too many permissions. `writes` contains permissions that are not stored yet. */
  async check(key: Pick<KeyRecord, 'roleIds' | 'permissionIds'>, writes: readonly RecordWrite[]): Promise<void> {
    // Direct permissions alone have a lower bound of their own.
    if (key.roleIds.length === 0) return;
    const unknown = key.roleIds.filter((id) => !this.#ofRoles.has(id));
    if (unknown.length > 0) this.learn(await this.#records.findRoles({ ids: unknown, names: [] }));
    if (this.#count(key) <= MAX_EFFECTIVE_PERMISSIONS) return;
    await this.#skipDeleted(writes);
    const count = this.#count(key);
    if (count > MAX_EFFECTIVE_PERMISSIONS) throw tooMany(count);
  }

  #count({ roleIds, permissionIds }: Pick<KeyRecord, 'roleIds' | 'permissionIds'>): number {
    const present = ++this.#counts;
    let count = 0;
    for (const numbers of [this.#numbersOf(permissionIds), ...roleIds.map((id) => this.#ofRoles.get(id) ?? [])]) {
      for (const number of numbers) {
        if ((this.#metIn[number] ?? 0) >= present) continue;
        this.#metIn[number] = present;
        count++;
      }
    }
    return count;
  }

  /** Roles and keys keep the ids of deleted permissions. Such ids do not count. */
  async #skipDeleted(writes: readonly RecordWrite[]): Promise<void> {
    const ids = [...this.#numbers.keys()].slice(this.#checked);
    this.#checked = this.#numbers.size;
    const stored = ids.length === 0 ? [] : await this.#records.findPermissions({ ids, names: [] });
    const existing = new Set(stored.map(({ id }) => id));
    for (const write of writes) if (write.kind === 'insertPermission') existing.add(write.permission.id);
    const deleted = ids.filter((id) => !existing.has(id));
    for (const number of this.#numbersOf(deleted)) this.#metIn[number] = Infinity;
  }

  #numbersOf(permissionIds: readonly string[]): number[] {
    return permissionIds.map((id) => {
      const known = this.#numbers.get(id);
      if (known !== undefined) return known;
      this.#metIn.push(0);
      this.#numbers.set(id, this.#numbers.size);
      return this.#numbers.size - 1;
    });
  }
}

function tooMany(count: number): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    `A key can have at most ${MAX_EFFECTIVE_PERMISSIONS} permissions, its own and those of its roles together; this would make it ${count}.`,
  );
}
