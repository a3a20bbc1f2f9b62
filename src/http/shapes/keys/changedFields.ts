import { KEY_PLAIN } from '../../../model/keys.ts';
import { part } from '../../../model/plain.ts';
import { AlertsInput } from '../counters/alertFields.ts';
import { IpAllowlist } from './creationFields.ts';
import { ChangedMetered, Refill } from '../counters/creditFields.ts';
import { former, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { PermissionReferences, RoleReferences } from './permissionObject.ts';
import { NamedRatelimits, Ratelimit } from '../counters/keyLimitFields.ts';
import { Count, ExternalIdOrNone, Flag, orNull, UnixMs } from '../../../model/schema/schemas.ts';

/** The fields of an existing key that a request can change. null clears a field; a field that is absent stays as it is. */
export const CHANGED_FIELDS = {
  ...part(KEY_PLAIN, 'changed'),
  externalId: optional(
    orNull(ExternalIdOrNone),
    'The new owner, by your own id of at most 256 characters. An identity with this id is created if there is none and `mustExist` is not true. null or an empty text removes the owner. It stays when absent.',
    EXAMPLE.externalId,
  ),
  mustExist: optional(
    Flag,
    'true: the `externalId` must be that of an identity. Otherwise the answer is 404, and nothing is created. An identity is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on.',
    true,
  ),
  ownerId: former(orNull(ExternalIdOrNone), 'Older name of `externalId`, which takes precedence.', EXAMPLE.externalId),
  roles: optional(
    orNull(RoleReferences),
    'The roles that the key has from now on, at most 100. null or `[]` takes all away. They stay when absent.',
    [{ name: 'editor' }],
  ),
  permissions: optional(
    orNull(PermissionReferences),
    'The permissions that the key has directly from now on, at most 1000. null or `[]` takes all away. They stay when absent.',
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
    'The new number of credits. null makes the key unlimited and removes its refill. The counter stays as it is when absent. `keys.updateRemaining` adds or subtracts.',
    100,
  ),
  refill: optional(
    orNull(Refill),
    'The new refill, which begins at its next boundary. It needs a counter. null removes it. It stays when absent.',
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
    'When an event tells that the key is about to expire, or that its credits run low. null removes all of it: then its identity and the plan of that decide when it is told that the key expires. It stays when absent.',
    { expiresWithinMs: 604800000 },
  ),
};
