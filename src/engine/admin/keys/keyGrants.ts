import { MAX_PERMISSIONS_PER_KEY, MAX_ROLES_PER_KEY } from '../../../core/bounds.ts';
import { AppError } from '../../../core/errors.ts';
import type { KeyRecord } from '../../../model/keys.ts';
import type { Operation } from '../../../core/rights.ts';
import type { KeyWithIdentity } from '../../../storage/port/records.ts';
import { type Actor, requireEverywhere } from '../change/requireRight.ts';
import { auditEntry } from '../audit.ts';
import { touchAccounts } from '../change/counters.ts';
import { EffectivePermissions } from '../rbac/effectivePermissions.ts';
import { isSameSet, type Named, namedOf, type RbacReference, ResolveReferences } from '../rbac/rbacReferences.ts';
import { emptyDraft } from '../change/applyChange.ts';
import { idsAround, KeyReader } from './readKeys.ts';
import type { AdminContext } from '../change/adminContext.ts';

interface GrantChange {
  readonly kind: 'permissions' | 'roles';
  readonly keyId: string;
  readonly references: readonly RbacReference[];
}

type How = 'add' | 'set' | 'remove';

interface Kind {
  readonly word: string;
  readonly field: 'permissionIds' | 'roleIds';
  readonly max: number;
  readonly operations: Readonly<Record<How, readonly [Operation, ...Operation[]]>>;
}

const KINDS: Readonly<Record<GrantChange['kind'], Kind>> = {
  permissions: {
    word: 'Permissions',
    field: 'permissionIds',
    max: MAX_PERMISSIONS_PER_KEY,
    operations: {
      add: ['rbac.add_permission_to_key'],
      set: ['rbac.add_permission_to_key', 'rbac.remove_permission_from_key'],
      remove: ['rbac.remove_permission_from_key'],
    },
  },
  roles: {
    word: 'Roles',
    field: 'roleIds',
    max: MAX_ROLES_PER_KEY,
    operations: {
      add: ['rbac.add_role_to_key'],
      set: ['rbac.add_role_to_key', 'rbac.remove_role_from_key'],
      remove: ['rbac.remove_role_from_key'],
    },
  },
};

/** Changes the roles and permissions of keys. Each change answers all that the key then has, sorted by name. */
export class KeyGrants {
  readonly #context: AdminContext;
  readonly #reader: KeyReader;
  readonly #references: ResolveReferences;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#reader = new KeyReader(context);
    this.#references = new ResolveReferences(context);
  }

  add(actor: Actor, change: GrantChange): Promise<readonly Named[]> {
    return this.#change(actor, 'add', change);
  }

  set(actor: Actor, change: GrantChange): Promise<readonly Named[]> {
    return this.#change(actor, 'set', change);
  }

  /** Ignores roles and permissions that the key does not have. One that does not exist at all is an error. */
  remove(actor: Actor, change: GrantChange): Promise<readonly Named[]> {
    const references = change.references.map((reference) => ({ ...reference, create: false }));
    return this.#change(actor, 'remove', { ...change, references });
  }

  /** A call that changes nothing writes nothing: the key keeps its revision, and no audit entry is written. */
  async #change(actor: Actor, how: How, { kind, keyId, references }: GrantChange): Promise<readonly Named[]> {
    const { word, field, max, operations } = KINDS[kind];
    for (const operation of operations[how]) requireEverywhere(actor, operation);
    return this.#context.changes.apply(async () => {
      const found = await this.#reader.load(actor, 'api.update_key', keyId);
      const held = heldBy(found, kind);
      const { records, writes, entries } = await this.#references[kind](actor, references, {
        takesBroken: how === 'remove',
      });
      const wanted = combined(how, held, records);
      const answer = () => namedOf(wanted);
      if (isSameSet(held, wanted)) return { change: { writes: [], accounts: [] }, answer };
      if (wanted.length > max) throw tooMany(kind, max, wanted.length);
      const key = this.#changed(found.key, { [field]: wanted.map(({ id }) => id) });
      if (how !== 'remove') await new EffectivePermissions(this.#context.storage.records).check(key, writes);
      const entry = auditEntry(actor, {
        action: `key.${how}${word}`,
        target: keyId,
        before: { [kind]: namedOf(held) },
        after: { [kind]: namedOf(wanted) },
        ids: idsAround(key, found.identity),
      });
      const formerDigests = await this.#reader.formerDigests(keyId);
      const draft = emptyDraft();
      draft.writes.push(...writes, { kind: 'updateKey', key, expect: found.key.revision, formerDigests });
      draft.accounts.push(...touchAccounts(found.key, key.revision));
      draft.entries.push(...entries, entry);
      return { change: draft, answer };
    });
  }

  #changed(before: KeyRecord, ids: Partial<Pick<KeyRecord, 'permissionIds' | 'roleIds'>>): KeyRecord {
    return { ...before, ...ids, updatedAtMs: this.#context.storage.ledger.nowMs(), revision: before.revision + 1 };
  }
}

/** Includes roles that cannot be read, so that a change of other roles keeps them. */
function heldBy({ permissions }: KeyWithIdentity, kind: GrantChange['kind']): readonly Named[] {
  if (permissions === null) return [];
  return kind === 'permissions' ? permissions.direct : [...permissions.roles, ...(permissions.broken ?? [])];
}

/** `held` contains only what still exists, so ids of deleted roles and permissions are not written again. */
function combined(how: How, held: readonly Named[], named: readonly Named[]): readonly Named[] {
  if (how === 'set') return named;
  const ids = new Set(named.map(({ id }) => id));
  const others = held.filter(({ id }) => !ids.has(id));
  return how === 'add' ? [...others, ...named] : others;
}

function tooMany(kind: string, max: number, count: number): AppError {
  return new AppError('PRECONDITION_FAILED', `A key can have at most ${max} ${kind}; this would make it ${count}.`);
}
