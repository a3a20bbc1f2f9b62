import { MAX_PERMISSIONS, MAX_PERMISSIONS_PER_KEY, MAX_ROLES, MAX_ROLES_PER_KEY } from '../../../core/bounds.ts';
import { AppError, repeatable } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { auditEntry } from '../audit.ts';
import { type Actor, requireEverywhere } from '../change/requireRight.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { EffectivePermissions } from './effectivePermissions.ts';
import {
  type NewPermission,
  type NewRole,
  PERMISSION_PLAIN,
  type PermissionRecord,
  ROLE_PLAIN,
  type RoleRecord,
} from '../../../model/access.ts';
import { auditPlain, part } from '../../../model/plainFields.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';
import type { FoundRole, NamedQuery } from '../../../storage/port/records.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';

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

export function auditedPermission(permission: PermissionRecord): Record<string, unknown> {
  const { name, slug } = permission;
  return { name, slug, ...auditPlain(PERMISSION_PLAIN, permission) };
}

export function auditedRole(role: RoleRecord): Record<string, unknown> {
  return { name: role.name, ...auditPlain(ROLE_PLAIN, role) };
}

export function permissionCreated(actor: Actor, permission: PermissionRecord): AuditEntry {
  const after = auditedPermission(permission);
  return auditEntry(actor, { action: 'permission.create', target: permission.id, before: null, after });
}

export function roleCreated(actor: Actor, role: RoleRecord): AuditEntry {
  return auditEntry(actor, { action: 'role.create', target: role.id, before: null, after: auditedRole(role) });
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
