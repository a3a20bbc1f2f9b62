import { KEY_PLAIN } from '../../../model/keys.ts';
import { part } from '../../../model/plain.ts';
import { Type } from 'typebox';

import { MAX_ALLOWLIST_ENTRIES, MAX_PERMISSIONS_PER_KEY, MAX_ROLES_PER_KEY } from '../../../core/bounds.ts';
import { AlertsInput } from '../counters/alertFields.ts';
import { NewMetered, Refill } from '../counters/creditFields.ts';
import { former, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { NamedRatelimits, Ratelimit } from '../counters/keyLimitFields.ts';
import { Count, ExternalIdOrNone, Flag } from '../../../model/schema/schemas.ts';
import { PermissionName, Prefix, UnixMs, words } from '../../../model/schema/schemas.ts';

export const IpAllowlist = Type.Array(words(1, 64, 'address-block'), { maxItems: MAX_ALLOWLIST_ENTRIES });
const RoleNames = Type.Array(PermissionName, { maxItems: MAX_ROLES_PER_KEY });
const PermissionNames = Type.Array(PermissionName, { maxItems: MAX_PERMISSIONS_PER_KEY });

export const KeyPrefix = optional(
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
    'The owner of the key, by your own id: at most 256 characters. An identity with this id is created if there is none and `mustExist` is not true. An empty text counts as absent.',
    EXAMPLE.externalId,
  ),
  mustExist: optional(
    Flag,
    'true: the `externalId` must be that of an identity. Otherwise the answer is 404, and nothing is created. An identity is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on.',
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
    'When an event tells that the key is about to expire, or that its credits run low. When absent, its identity and the plan of that decide when it is told that the key expires.',
  ),
};
