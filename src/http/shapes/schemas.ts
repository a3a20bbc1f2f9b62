import { Type } from 'typebox';

import {
  MAX_ALLOWLIST_ENTRIES,
  MAX_COUNT,
  MAX_ENVIRONMENT_LENGTH,
  MAX_EXTERNAL_ID_LENGTH,
  MAX_ID_LENGTH,
  MAX_KEY_BYTES,
  MAX_LIMIT_NAME_LENGTH,
  MAX_LIMITS_PER_KEY,
  MAX_NAME_LENGTH,
  MAX_PAGE_SIZE,
  MAX_PERMISSION_LENGTH,
  MAX_PERMISSIONS_PER_KEY,
  MAX_ROLES_PER_KEY,
  MAX_WINDOW_MS,
  MIN_API_NAME_LENGTH,
  MIN_KEY_BYTES,
  MIN_WINDOW_MS,
} from '../../core/bounds.ts';
import { idPattern } from '../../core/ids.ts';
import { PREFIX_PATTERN } from '../../core/secret.ts';
import { READABLE_PATTERN, TEXT_PATTERN, type TextFormat } from '../request/textRules.ts';

/** The pieces that request schemas are made of. They validate, and they are what /openapi.json shows. */

export function strict<const P extends Type.TProperties>(properties: P, description?: string) {
  return Type.Object(properties, {
    additionalProperties: false,
    ...(description === undefined ? {} : { description }),
  });
}

export function words(minLength: number, maxLength: number, format?: TextFormat) {
  return Type.String({ minLength, maxLength, pattern: TEXT_PATTERN, ...(format === undefined ? {} : { format }) });
}

/** A page begins after the last record of the previous page, even if that record was deleted. */
export function cursorAt(prefix: 'key' | 'api' | 'id' | 'ovr') {
  return Type.String({ pattern: idPattern(prefix), description: 'the cursor of an earlier page' });
}

export function orNull<const S extends Type.TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

export const Count = Type.Integer({ minimum: 0, maximum: MAX_COUNT });
export const Positive = Type.Integer({ minimum: 1, maximum: MAX_COUNT });
export const Id = words(1, MAX_ID_LENGTH);
export const Name = words(1, MAX_NAME_LENGTH);
export const ExternalId = words(1, MAX_EXTERNAL_ID_LENGTH);
export const Environment = words(1, MAX_ENVIRONMENT_LENGTH);
export const ApiName = Type.String({
  minLength: MIN_API_NAME_LENGTH,
  maxLength: MAX_NAME_LENGTH,
  pattern: READABLE_PATTERN,
});
/** An optional text of a key. An empty text counts as none. */
export const NameOrNone = words(0, MAX_NAME_LENGTH);
export const ExternalIdOrNone = words(0, MAX_EXTERNAL_ID_LENGTH);
export const EnvironmentOrNone = words(0, MAX_ENVIRONMENT_LENGTH);
export const UnixMs = Type.Integer({ minimum: 0, maximum: MAX_COUNT });
export const Meta = Type.Object({}, { additionalProperties: true });
export const PageLimit = Type.Integer({ minimum: 1, maximum: MAX_PAGE_SIZE });
export const DurationMs = Type.Integer({ minimum: MIN_WINDOW_MS, maximum: MAX_WINDOW_MS });
export const LimitName = words(1, MAX_LIMIT_NAME_LENGTH);
export const ByteLength = Type.Integer({ minimum: MIN_KEY_BYTES, maximum: MAX_KEY_BYTES });
export const Prefix = Type.String({
  pattern: PREFIX_PATTERN,
  description: '1 to 16 of the characters A-Z a-z 0-9 _ . -',
});

export const Refill = strict({
  interval: Type.Union([Type.Literal('daily'), Type.Literal('monthly')]),
  amount: Positive,
  refillDay: Type.Optional(orNull(Type.Integer({ minimum: 1, maximum: 31 }))),
  timezone: Type.Optional(words(1, 64, 'time-zone')),
  mode: Type.Optional(Type.Union([Type.Literal('restore'), Type.Literal('add')])),
  max: Type.Optional(Positive),
});

/** The limit named `default`. The older names of its fields are accepted too; the newer ones take precedence. */
export const Ratelimit = strict({
  async: Type.Optional(Type.Boolean()),
  limit: Type.Optional(Positive),
  duration: Type.Optional(DurationMs),
  type: Type.Optional(Type.Union([Type.Literal('fast'), Type.Literal('consistent')])),
  refillRate: Type.Optional(Positive),
  refillInterval: Type.Optional(DurationMs),
});

export const NamedRatelimits = Type.Array(
  strict({ name: LimitName, limit: Positive, duration: DurationMs, async: Type.Optional(Type.Boolean()) }),
  { maxItems: MAX_LIMITS_PER_KEY },
);

export const IpAllowlist = Type.Array(words(1, 64, 'address-block'), { maxItems: MAX_ALLOWLIST_ENTRIES });

export const PermissionName = words(1, MAX_PERMISSION_LENGTH);
export const RoleNames = Type.Array(PermissionName, { maxItems: MAX_ROLES_PER_KEY });
export const PermissionNames = Type.Array(PermissionName, { maxItems: MAX_PERMISSIONS_PER_KEY });

const ById = { id: Type.Optional(Id), name: Type.Optional(PermissionName) };
const Create = { create: Type.Optional(Type.Boolean()) };
const Slug = { slug: Type.Optional(PermissionName) };

/** Roles and permissions by id or name; permissions also by slug. `create` creates what does not exist. */
export const RoleReferences = Type.Array(strict({ ...ById, ...Create }), { maxItems: MAX_ROLES_PER_KEY });
export const PermissionReferences = Type.Array(strict({ ...ById, ...Slug, ...Create }), {
  maxItems: MAX_PERMISSIONS_PER_KEY,
});
/** References for removal have no `create`. */
export const RoleReferencesToRemove = Type.Array(strict(ById), { maxItems: MAX_ROLES_PER_KEY });
export const PermissionReferencesToRemove = Type.Array(strict({ ...ById, ...Slug }), {
  maxItems: MAX_PERMISSIONS_PER_KEY,
});

/** The fields of a new key, created here or imported. */
export const CREATION_FIELDS = {
  name: Type.Optional(NameOrNone),
  externalId: Type.Optional(ExternalIdOrNone),
  ownerId: Type.Optional(ExternalIdOrNone),
  meta: Type.Optional(Meta),
  roles: Type.Optional(RoleNames),
  permissions: Type.Optional(PermissionNames),
  expires: Type.Optional(UnixMs),
  remaining: Type.Optional(Count),
  refill: Type.Optional(Refill),
  ratelimit: Type.Optional(Ratelimit),
  ratelimits: Type.Optional(NamedRatelimits),
  ipAllowlist: Type.Optional(IpAllowlist),
  enabled: Type.Optional(Type.Boolean()),
  environment: Type.Optional(EnvironmentOrNone),
};
