import { parseBlock } from '../../core/address.ts';
import { type Grant, holdPermissions } from '../../core/permissions.ts';
import type { KeyPermissions, KeyWithIdentity } from '../../storage/port/records.ts';
import type { KeyExtras } from './keyEntry.ts';
import type { EntryPermissions } from './planEntry.ts';

const NO_EXTRAS: KeyExtras = {
  name: null,
  meta: null,
  environment: null,
  allowedBlocks: null,
  permissions: null,
  secretUntilMs: Infinity,
  planMovesAtMs: Infinity,
};

/** null: the key has nothing of the kind. */
export function toExtras({ key, permissions, secretUntilMs }: KeyWithIdentity): KeyExtras | null {
  const { name, meta, environment, ipAllowlist, planMove } = key;
  const isPlain = name === null && meta === null && environment === null && ipAllowlist.length === 0;
  if (isPlain && permissions === null && secretUntilMs === null && planMove === null) return null;
  return {
    name,
    meta,
    environment,
    allowedBlocks: ipAllowlist.length === 0 ? null : ipAllowlist.flatMap((text) => parseBlock(text) ?? []),
    permissions: permissions === null ? null : toEntryPermissions(permissions),
    secretUntilMs: secretUntilMs ?? Infinity,
    planMovesAtMs: planMove?.atMs ?? Infinity,
  };
}

/** With what its plan or that of its identity gives. */
export function withGivenPermissions(own: KeyExtras | null, given: EntryPermissions | null): KeyExtras | null {
  if (given === null) return own;
  const [extras, permissions] = [own ?? NO_EXTRAS, own?.permissions ?? null];
  return { ...extras, permissions: permissions === null ? given : joined(permissions, given) };
}

function joined(own: EntryPermissions, given: EntryPermissions): EntryPermissions {
  const grants = [...own.grants, ...given.grants.filter(({ slug }) => !own.held.grants.has(slug))];
  const sorted = grants.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));
  return permissionsOf([...new Set([...own.roles, ...given.roles])].toSorted(), sorted);
}

export function toEntryPermissions({ roles, grants }: KeyPermissions): EntryPermissions {
  return permissionsOf(
    roles.map(({ name }) => name),
    grants,
  );
}

function permissionsOf(roles: readonly string[], grants: readonly Grant[]): EntryPermissions {
  return { roles, grants, permissions: grants.map(({ slug }) => slug), held: holdPermissions(grants) };
}
