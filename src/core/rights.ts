/**
 * Rights of a root key are strings `resource.id.action`, where id may be `*`; `*` alone is everything. A right on one
 * thing is never a right on another: what a root key may not see looks to it as if it did not exist.
 */
export const API_ACTIONS = [
  'read_api',
  'create_api',
  'create_key',
  'read_key',
  'update_key',
  'delete_key',
  'verify_key',
] as const;

export type ApiAction = (typeof API_ACTIONS)[number];

export const ALL_RIGHTS = '*';

const RIGHT_PATTERN = /^api\.(\*|[A-Za-z0-9_]{1,128})\.([a-z_]+)$/;

/** The action is held for this api (or, with `*`, for every api, as making a new one needs). */
export function holdsRight(rights: readonly string[], action: ApiAction, apiId: string): boolean {
  return rights.includes(ALL_RIGHTS) || rights.includes(`api.*.${action}`) || rights.includes(`api.${apiId}.${action}`);
}

/** The action is held for at least one api: the answer about another one is then "not found", not "not allowed". */
export function holdsRightSomewhere(rights: readonly string[], action: ApiAction): boolean {
  return rights.some((right) => right === ALL_RIGHTS || RIGHT_PATTERN.exec(right)?.[2] === action);
}

export function isRight(text: string): boolean {
  if (text === ALL_RIGHTS) return true;
  const action = RIGHT_PATTERN.exec(text)?.[2];
  return action !== undefined && (API_ACTIONS as readonly string[]).includes(action);
}
