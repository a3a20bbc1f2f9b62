import type { Static } from 'typebox';

import { MAX_LISTED_PER_CALL } from '../../../core/bounds.ts';
import { AppError, type Issue } from '../../../core/errors.ts';
import type { Actor } from '../../../engine/admin/change/actor.ts';
import type { NewKey } from '../../../engine/admin/keys/keyInput.ts';
import type { Engine } from '../../../engine/engine.ts';
import { MAX_ISSUES } from '../../../core/bounds.ts';
import { CREATION_FIELDS, KeyPrefix, Recoverable } from './creationFields.ts';
import { optional } from '../../../model/schema/described.ts';
import { badFields, placed, refuseRecoverable, reservedPrefix, toKeyPatch, withoutEmpty } from './keyFields.ts';
import { ByteLength, type strict } from '../../../model/schema/schemas.ts';

/** The fields of a key that is created here, without its api. */
export const NEW_KEY_FIELDS = {
  prefix: KeyPrefix,
  byteLength: optional(
    ByteLength,
    'The number of random bytes in the secret, from 16 to 255. The `defaultByteLength` of the api when absent, or 16.',
    16,
  ),
  ...CREATION_FIELDS,
  recoverable: Recoverable,
};

type NewKeyFields = Static<ReturnType<typeof strict<typeof NEW_KEY_FIELDS>>>;

/** From the wire to the engine. */
export function toNewKey(item: NewKeyFields & { readonly apiId: string }, nowMs: number): NewKey {
  const { apiId, prefix = null, byteLength = null, recoverable, roles, permissions, ...fields } = item;
  refuseRecoverable(recoverable);
  const issues: Issue[] = prefix === null ? [] : reservedPrefix('prefix', prefix);
  if (fields.expires !== undefined && fields.expires <= nowMs) {
    issues.push({ path: 'expires', message: 'expires is in the past; it must be a unix time in milliseconds' });
  }
  if (fields.refill !== undefined && fields.remaining === undefined) {
    issues.push({ path: 'refill', message: 'a refill needs a counter: give remaining with it' });
  }
  const named = {
    ...withoutEmpty(fields),
    ...(roles === undefined ? {} : { roles: roles.map(byName) }),
    ...(permissions === undefined ? {} : { permissions: permissions.map(byName) }),
  };
  return { ...toKeyPatch(named, issues), apiId, prefix, byteLength };
}

/** Roles and permissions that do not exist are created, if the root key may do that. */
function byName(name: string): { name: string; create: true } {
  return { name, create: true };
}

/** The same for many keys. The problems of all keys are reported together, as `keys[3].field`, up to the maximum. */
export async function toNewKeys(
  { turns, storage }: Engine,
  { id: client }: Actor,
  { keys, apiId }: { readonly keys: readonly (NewKeyFields & { readonly apiId?: string })[]; readonly apiId?: string },
): Promise<NewKey[]> {
  refuseLongLists(keys);
  const nowMs = storage.ledger.nowMs();
  const issues: Issue[] = [];
  const made: NewKey[] = [];
  await turns.each(client, keys, (key, i) => {
    const item = `keys[${i}]`;
    const api = key.apiId ?? apiId;
    if (api === undefined) issues.push(placed(item, 'apiId', 'give apiId, here or beside keys'));
    else made.push(...collected(item, issues, () => toNewKey({ ...key, apiId: api }, nowMs)));
    return issues.length < MAX_ISSUES;
  });
  if (issues.length > 0) throw badFields(issues);
  return made;
}

function collected(item: string, issues: Issue[], make: () => NewKey): NewKey[] {
  try {
    return [make()];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.issues === undefined) throw new AppError(error.code, `${item}: ${error.message}`);
    issues.push(...error.issues.map(({ path, message }) => placed(item, path, message)));
    return [];
  }
}

function refuseLongLists(keys: readonly NewKeyFields[]): void {
  const listed = keys.reduce((sum, { roles = [], permissions = [], ratelimits = [], ipAllowlist = [] }) => {
    return sum + roles.length + permissions.length + ratelimits.length + ipAllowlist.length;
  }, 0);
  if (listed <= MAX_LISTED_PER_CALL) return;
  const message = `roles, permissions, ratelimits and ipAllowlist of all keys must have at most ${MAX_LISTED_PER_CALL} entries together, got ${listed}; send fewer keys in one call`;
  throw badFields([{ path: 'keys', message }]);
}
