import { reservedPrefix, badFields, told, placed, checkedReferences } from '../schema/badFields.ts';
import { type Static, Type } from 'typebox';

import {
  MAX_ALLOWLIST_ENTRIES,
  MAX_ISSUES,
  MAX_LISTED_PER_CALL,
  MAX_PERMISSIONS_PER_KEY,
  MAX_ROLES_PER_KEY,
} from '../../../core/bounds.ts';
import type { LimitInput, RefillInput } from '../../../core/counterPatch.ts';
import { AppError, type Issue, repeatable } from '../../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../../core/records.ts';
import type { Actor } from '../../../engine/admin/change/requireRight.ts';
import type { KeyPatch, NewKey } from '../../../engine/admin/createKeys.ts';
import type { RbacReference } from '../../../engine/admin/permissions.ts';
import type { Engine } from '../../../engine/engine.ts';
import { AlertsInput, ChangedMetered, NewMetered, Refill } from '../counters/creditFields.ts';
import { NamedRatelimits, Ratelimit, type SharedRatelimits } from '../counters/keyLimitFields.ts';
import { PermissionReferences, RoleReferences } from './permissionObject.ts';
import { KEY_PLAIN, type KeyRecord } from '../../../model/keys.ts';
import { parsePlain, part } from '../../../model/plainFields.ts';
import { component, former, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import {
  ByteLength,
  Count,
  ExternalIdOrNone,
  Flag,
  orNull,
  PermissionName,
  Prefix,
  strict,
  UnixMs,
  words,
} from '../../../model/schema/schemas.ts';

const IpAllowlist = Type.Array(words(1, 64, 'address-block'), { maxItems: MAX_ALLOWLIST_ENTRIES });

/** The flags of a key's fields, where another word reads better. Its answers have the same labels. */
export const KEY_FLAGS = {
  ratelimit: 'limit',
  ratelimits: 'ratelimit',
  ipAllowlist: 'ip',
} as const;

const LIMIT_NOW = 'Write --limit 10/s, or --limit 10/s,strict.';
const REFILL_NOW =
  'Write it behind the amount, as --refill monthly:1000,day=15,timezone=Europe/Berlin,mode=add,max=5000.';

/** Until 0.1, a limit and a refill had a flag for each of their parts. */
export const FORMER_KEY_FLAGS = {
  duration: LIMIT_NOW,
  async: LIMIT_NOW,
  strict: LIMIT_NOW,
  'refill-interval': REFILL_NOW,
  'refill-amount': REFILL_NOW,
  'refill-day': REFILL_NOW,
  'refill-weekday': REFILL_NOW,
  'refill-timezone': REFILL_NOW,
  'refill-mode': REFILL_NOW,
  'refill-max': REFILL_NOW,
} as const;

/** The fields that createKey and updateKey share, from the wire to the engine. */
interface KeyFields extends Partial<Record<keyof typeof KEY_PLAIN, unknown>> {
  readonly externalId?: string | null;
  readonly ownerId?: string | null;
  readonly mustExist?: boolean;
  readonly expires?: number | null;
  readonly remaining?: number | null;
  readonly metered?: boolean;
  readonly refill?: Static<typeof Refill> | null;
  readonly ratelimit?: Static<typeof Ratelimit> | null;
  readonly ratelimits?: Static<typeof NamedRatelimits> | null;
  readonly ipAllowlist?: Static<typeof IpAllowlist> | null;
  readonly alerts?: Static<typeof AlertsInput> | null;
  readonly roles?: readonly RbacReference[] | null;
  readonly permissions?: readonly RbacReference[] | null;
}

/** Checks what a schema cannot express, and reports it together with `issues`. An empty text counts as absent. */
export function toKeyPatch(fields: KeyFields, before: readonly Issue[] = []): KeyPatch {
  const issues = [...before];
  const externalId = fields.externalId === undefined ? fields.ownerId : fields.externalId;
  const patch: KeyPatch = {
    ...parsePlain<KeyRecord>(KEY_PLAIN, fields, told(issues)),
    ...(externalId === undefined ? {} : { externalId: externalId || null }),
    ...(externalId && fields.mustExist === true ? { mustExist: true } : {}),
    ...(fields.expires === undefined ? {} : { expiresAtMs: fields.expires }),
    ...(fields.remaining === undefined ? {} : { remaining: fields.remaining }),
    ...(fields.metered === undefined ? {} : { metered: fields.metered }),
    ...(fields.refill === undefined ? {} : { refill: toRefill(fields.refill, issues) }),
    ...(fields.ratelimit === undefined ? {} : { defaultLimit: toDefaultLimit(fields.ratelimit, issues) }),
    ...(fields.ratelimits === undefined ? {} : { otherLimits: toLimits(fields.ratelimits, issues) }),
    ...(fields.ipAllowlist === undefined ? {} : { ipAllowlist: fields.ipAllowlist }),
    ...(fields.alerts === undefined ? {} : { alerts: fields.alerts }),
    ...(fields.roles === undefined ? {} : { roles: checkedReferences(fields.roles, 'roles', issues) }),
    ...(fields.permissions === undefined
      ? {}
      : { permissions: checkedReferences(fields.permissions, 'permissions', issues) }),
  };
  if (issues.length > 0) throw badFields(issues);
  return patch;
}

/** The fields of a new key. An empty externalId counts as absent and does not hide the ownerId. */
export function withoutEmpty({ externalId, ...fields }: KeyFields): KeyFields {
  return externalId ? { ...fields, externalId } : fields;
}

/** Only a digest is stored, so a key cannot be recovered. */
export function refuseRecoverable(recoverable: boolean | undefined): void {
  if (recoverable !== true) return;
  throw new AppError('PRECONDITION_FAILED', 'Secrets are not stored, so a key cannot be made recoverable.');
}

export function toRefill(refill: Static<typeof Refill> | null, issues: Issue[]): RefillInput | null {
  if (refill === null) return null;
  const { interval, amount, refillDay = null, refillWeekday = null, timezone = null } = refill;
  const { mode = 'restore', max = null } = refill;
  const add = (field: string, message: string): void => void issues.push({ path: `refill.${field}`, message });
  if (interval !== 'monthly' && refillDay !== null)
    add('refillDay', 'refill.refillDay is allowed only with interval "monthly"');
  if (interval !== 'weekly' && refillWeekday !== null)
    add('refillWeekday', 'refill.refillWeekday is allowed only with interval "weekly"');
  if (max !== null && mode !== 'add') add('max', 'refill.max is allowed only with mode "add"');
  return { interval, amount, refillDay, refillWeekday, timezone, mode, max };
}

function toDefaultLimit(ratelimit: Static<typeof Ratelimit> | null, issues: Issue[]): LimitInput | null {
  if (ratelimit === null) return null;
  const limit = ratelimit.limit ?? ratelimit.refillRate;
  const durationMs = ratelimit.duration ?? ratelimit.refillInterval;
  if (limit === undefined) issues.push({ path: 'ratelimit.limit', message: 'ratelimit.limit is missing' });
  if (durationMs === undefined) issues.push({ path: 'ratelimit.duration', message: 'ratelimit.duration is missing' });
  const async = ratelimit.async ?? (ratelimit.type === undefined ? null : ratelimit.type === 'fast');
  const { notify } = ratelimit;
  const numbers = { limit: limit ?? 1, durationMs: durationMs ?? 1000 };
  return { name: DEFAULT_LIMIT_NAME, ...numbers, async, ...(notify === undefined ? {} : { notify }) };
}

function toLimits(limits: Static<typeof NamedRatelimits> | null, issues: Issue[]): LimitInput[] | null {
  if (limits === null) return null;
  for (const [i, { name }] of limits.entries()) {
    if (name !== DEFAULT_LIMIT_NAME) continue;
    issues.push({ path: `ratelimits[${i}].name`, message: 'send the limit "default" as ratelimit, not in ratelimits' });
  }
  return toNamedLimits(limits, issues);
}

export function toNamedLimits(limits: Static<typeof SharedRatelimits>, issues: Issue[]): LimitInput[] {
  for (const [i, { name }] of limits.entries()) {
    if (limits.findIndex((other) => other.name === name) !== i) {
      issues.push({ path: `ratelimits[${i}].name`, message: `the limit ${repeatable(name)} is given twice` });
    }
  }
  return limits.map(({ name, limit, duration, async, autoApply, notify }) => ({
    name,
    limit,
    durationMs: duration,
    async: async ?? null,
    ...(autoApply === undefined ? {} : { autoApply }),
    ...(notify === undefined ? {} : { notify }),
  }));
}

/** The fields of an existing key that a request can change. null clears a field; a field that is absent stays as it is. */
export const CHANGED_FIELDS = {
  ...part(KEY_PLAIN, 'changed'),
  externalId: optional(
    orNull(ExternalIdOrNone),
    'The customer that the key now belongs to, by your own id of at most 256 characters. A customer with this id is created if there is none and `mustExist` is not true. null or an empty text: no customer. It stays when absent.',
    EXAMPLE.externalId,
  ),
  mustExist: optional(
    Flag,
    'true: there must be a customer with this `externalId`. Otherwise the answer is 404, and nothing is created. A missing customer is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on.',
    true,
  ),
  ownerId: former(orNull(ExternalIdOrNone), 'Older name of `externalId`, which takes precedence.', EXAMPLE.externalId),
  roles: optional(
    orNull(RoleReferences),
    'The roles that the key has from now on, at most 100. null or `[]` removes all. They stay when absent.',
    [{ name: 'editor' }],
  ),
  permissions: optional(
    orNull(PermissionReferences),
    'The permissions that the key has directly from now on, at most 1000. null or `[]` removes all. They stay when absent.',
    [{ name: 'documents.read' }],
  ),
  expires: optional(
    orNull(UnixMs),
    'When the key stops being valid, in unix milliseconds. A time in the past ends it at once. null: it does not expire. It stays when absent.',
    1798761600000,
  ),
  metered: ChangedMetered,
  remaining: optional(
    orNull(Count),
    'The new number of credits. null makes the key unlimited and removes its refill. The credits stay as they are when absent. `keys.updateRemaining` adds or subtracts.',
    100,
  ),
  refill: optional(
    orNull(Refill),
    'The new refill. It first happens at its next scheduled time, and needs credits. null removes it. It stays when absent.',
    { interval: 'monthly', amount: 1000 },
  ),
  ratelimit: optional(
    orNull(Ratelimit),
    'The new rate limit with the name `default`. Another `limit` keeps the running count; another `duration` or `async` begins a new one. null removes it. It stays when absent.',
    { limit: 10, duration: 1000 },
  ),
  ratelimits: optional(
    orNull(NamedRatelimits),
    'The new further rate limits, at most 50, which replace all old ones. null or `[]` removes them. They stay when absent.',
    [{ name: 'exports', limit: 100, duration: 86400000 }],
  ),
  ipAllowlist: optional(
    orNull(IpAllowlist),
    'The addresses and CIDR blocks that the key may be used from, at most 100. null or `[]` allows every address. It stays when absent.',
    ['203.0.113.0/24'],
  ),
  alerts: optional(
    orNull(AlertsInput),
    'When an event warns that the key is about to expire, or that its credits run low. null removes this; its customer, or the plan of its customer, then decides when to warn of the expiry. It stays when absent.',
    { expiresWithinMs: 604800000 },
  ),
};
const RoleNames = Type.Array(PermissionName, { maxItems: MAX_ROLES_PER_KEY });
const PermissionNames = Type.Array(PermissionName, { maxItems: MAX_PERMISSIONS_PER_KEY });

const KeyPrefix = optional(
  Prefix,
  'The text that the secret begins with, so that people recognise it: 1 to 16 of the characters A-Z a-z 0-9 _ . -, without the underscore that follows it, and not `root`, `session` or `portal`. The `defaultPrefix` of the api when absent.',
  'demo',
);

/** `false` is what the service does anyway. */
export const Recoverable = former(
  Flag,
  'Secrets are not stored, so a key cannot be recovered: true is refused with 412. false is accepted and changes nothing.',
  false,
);

/** The fields of a new key, created here or imported. */
export const CREATION_FIELDS = {
  ...part(KEY_PLAIN, 'created'),
  externalId: optional(
    ExternalIdOrNone,
    'The customer that the key belongs to, by your own id of at most 256 characters. A customer with this id is created if there is none and `mustExist` is not true. An empty text counts as absent.',
    EXAMPLE.externalId,
  ),
  mustExist: optional(
    Flag,
    'true: there must be a customer with this `externalId`. Otherwise the answer is 404, and nothing is created. A missing customer is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on.',
    true,
  ),
  ownerId: former(ExternalIdOrNone, 'Older name of `externalId`, which takes precedence.', EXAMPLE.externalId),
  roles: optional(
    RoleNames,
    'The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412.',
    ['editor'],
  ),
  permissions: optional(
    PermissionNames,
    'The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412.',
    ['documents.read'],
  ),
  expires: optional(
    UnixMs,
    'When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent.',
    1798761600000,
  ),
  metered: NewMetered,
  remaining: optional(
    Count,
    'The credits of the key. Each valid verification takes 1, or the cost that it names. 0 is allowed: the key then waits for its refill. The key is unlimited when absent.',
    100,
  ),
  refill: optional(Refill),
  ratelimit: optional(
    Ratelimit,
    'The rate limit of the key with the name `default`. It applies to every verification. The `defaultRatelimit` of the api when absent.',
  ),
  ratelimits: optional(
    NamedRatelimits,
    'Further rate limits of the key, at most 50, each with its own name. All of them apply to every verification. `default` is not allowed here: it is `ratelimit`.',
    [{ name: 'exports', limit: 100, duration: 86400000, async: false }],
  ),
  ipAllowlist: optional(
    IpAllowlist,
    'The addresses and CIDR blocks (IPv4 and IPv6) that the key may be used from, at most 100. Every other address is FORBIDDEN. Any address is allowed when absent or empty.',
    ['203.0.113.0/24', '2001:db8::/32'],
  ),
  alerts: optional(
    AlertsInput,
    'When an event warns that the key is about to expire, or that its credits run low. When absent, its customer, or the plan of its customer, decides when to warn of the expiry.',
  ),
};

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
    issues.push({
      path: 'expires',
      message: `expires must be in the future, in unix milliseconds, got ${fields.expires}`,
    });
  }
  if (fields.refill !== undefined && fields.remaining === undefined) {
    issues.push({ path: 'refill', message: 'a refill needs credits: send remaining too' });
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

const {
  name: _name,
  externalId: _externalId,
  ownerId: _ownerId,
  recoverable: _recoverable,
  ...fields
} = NEW_KEY_FIELDS;

/** What a customer cannot choose: everything about a new key but its name. */
export const KeyDefaults = component(
  'KeyDefaults',
  strict(fields),
  'Fields of keys.createKey for the keys that the customer creates in the portal. None when absent.',
  { prefix: 'demo', ratelimit: { async: true, limit: 10, duration: 1000 } },
);

export type KeyDefaults = Static<typeof KeyDefaults>;
