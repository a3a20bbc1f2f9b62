import { repeatable } from './errors.ts';

/**
 * A right of a root key is a string `resource.id.action`, where the id may be `*`. The right `*` allows everything. A root key
 * sees only what it has rights on; everything else answers NOT_FOUND.
 */
export const RIGHTS = {
  api: [
    'read_api',
    'create_api',
    'update_api',
    'delete_api',
    'create_key',
    'read_key',
    'update_key',
    'grant_credits',
    'adjust_credits',
    'delete_key',
    'verify_key',
    'read_analytics',
    'read_usage',
  ],
  ratelimit: [
    'limit',
    'create_namespace',
    'read_namespace',
    'delete_namespace',
    'set_override',
    'read_override',
    'delete_override',
  ],
  identity: [
    'create_identity',
    'read_identity',
    'update_identity',
    'grant_credits',
    'adjust_credits',
    'delete_identity',
    'read_usage',
  ],
  plan: ['create_plan', 'read_plan', 'update_plan', 'delete_plan', 'assign_plan', 'read_usage'],
  rbac: [
    'create_permission',
    'read_permission',
    'update_permission',
    'delete_permission',
    'create_role',
    'read_role',
    'update_role',
    'delete_role',
    'add_permission_to_key',
    'remove_permission_from_key',
    'add_role_to_key',
    'remove_role_from_key',
    'add_permission_to_role',
    'remove_permission_from_role',
  ],
  event: ['read_event'],
  webhook: ['create_webhook', 'read_webhook', 'update_webhook', 'delete_webhook'],
  root: ['create_root_key', 'read_root_key', 'revoke_root_key', 'read_audit'],
  service: ['read_status'],
} as const;

type Resource = keyof typeof RIGHTS;

type Action<R extends Resource = Resource> = (typeof RIGHTS)[R][number];

/** What a right allows, `resource.action`. The id says on which record. */
export type Operation = { [R in Resource]: `${R}.${Action<R>}` }[Resource];

export const OPERATIONS: readonly Operation[] = Object.entries(RIGHTS).flatMap(([resource, actions]) =>
  actions.map((action) => `${resource}.${action}` as Operation),
);

export const ALL_RIGHTS = '*';

const RIGHT_PATTERN = /^([a-z]+)\.(\*|[A-Za-z0-9_]{1,128})\.([a-z_]+)$/;

/** The right to do this on the record with this id. */
export function rightTo(operation: Operation, id: string): string {
  const [resource, action] = operation.split('.');
  return `${resource}.${id}.${action}`;
}

/** The rights allow the operation on the record with this id. With `*`: on every record, which creating a new one needs. */
export function holdsRight(rights: readonly string[], operation: Operation, id: string): boolean {
  return (
    rights.includes(ALL_RIGHTS) || rights.includes(rightTo(operation, '*')) || rights.includes(rightTo(operation, id))
  );
}

/** The rights allow the operation on at least one record. Asking about any other then answers NOT_FOUND, not a missing right. */
export function holdsRightSomewhere(rights: readonly string[], operation: Operation): boolean {
  return rights.some((right) => right === ALL_RIGHTS || operationOf(right) === operation);
}

/** The ids on which the rights allow the operation; null = all. */
export function idsWithRight(rights: readonly string[], operation: Operation): string[] | null {
  if (holdsRight(rights, operation, ALL_RIGHTS)) return null;
  return rights.filter((right) => operationOf(right) === operation).map((right) => right.split('.')[1] ?? '');
}

/** Operations that give a key an owner. */
export type OwnerOperation = 'api.create_key' | 'api.update_key';

/** A root key that may do this in every api, or may create identities, may name any identity as the owner of a key. */
export function mayNameAnyOwner(rights: readonly string[], operation: OwnerOperation): boolean {
  return holdsRight(rights, operation, ALL_RIGHTS) || holdsRight(rights, 'identity.create_identity', ALL_RIGHTS);
}

/**
 * Identities belong to no api, and a key of an identity reads its metadata and spends its credits. Therefore a root key of single
 * apis needs a right on identities to name one: to create any, or to change this one.
 */
export function mayNameOwner(rights: readonly string[], operation: OwnerOperation, identityId: string): boolean {
  return mayNameAnyOwner(rights, operation) || holdsRight(rights, 'identity.update_identity', identityId);
}

/** A root key with these rights may grant `right`: it has the right itself, or one that includes it. */
export function coversRight(rights: readonly string[], right: string): boolean {
  if (rights.includes(ALL_RIGHTS) || rights.includes(right)) return true;
  const [resource, , action] = right.split('.');
  return right !== ALL_RIGHTS && rights.includes(`${resource}.*.${action}`);
}

/** Operations that concern no single record. A right to them on one id would have no effect, so only `*` is a valid id. */
function needsWildcard(operation: string): boolean {
  return /^rbac\.(create_|.*_key$)|^root\.read_audit$|^service\.read_status$|^webhook\.create_webhook$|^api\.create_api$|^identity\.create_identity$|^plan\.create_plan$|^ratelimit\.create_namespace$/.test(
    operation,
  );
}

export function unknownRight(text: string): string {
  return `Unknown right ${repeatable(text)}. Rights look like "*" or "api.*.create_key".`;
}

export function isRight(text: string): boolean {
  if (text === ALL_RIGHTS) return true;
  const operation = operationOf(text);
  if (operation === null || !(OPERATIONS as readonly string[]).includes(operation)) return false;
  return !needsWildcard(operation) || text.split('.')[1] === ALL_RIGHTS;
}

function operationOf(right: string): string | null {
  const parts = RIGHT_PATTERN.exec(right);
  return parts === null ? null : `${parts[1]}.${parts[3]}`;
}
