import { Type } from 'typebox';

import { type CreditsRecord, DEFAULT_LIMIT_NAME, type IdentityRecord, type LimitRecord } from '../../core/records.ts';
import type { CreditsView, KeyView } from '../../engine/admin/keys/keyView.ts';
import { strict } from './schemas.ts';

const Text = Type.String();
const Whole = Type.Integer();

export const IdentityObject = strict({ id: Text, externalId: Text, meta: Type.Object({}) });

export const RefillObject = strict({
  interval: Text,
  amount: Whole,
  refillDay: Type.Union([Whole, Type.Null()]),
  timezone: Text,
  mode: Text,
  max: Type.Optional(Whole),
  lastRefillAt: Type.Optional(Whole),
  nextRefillAt: Type.Optional(Whole),
});

export const NamedRatelimitObject = strict({ name: Text, limit: Whole, duration: Whole, async: Type.Boolean() });

/** A key as getKey and listKeys show it. Fields that are not set are left out. */
export const KeyObject = strict({
  id: Text,
  start: Text,
  apiId: Text,
  workspaceId: Text,
  name: Type.Optional(Text),
  ownerId: Type.Optional(Text),
  meta: Type.Object({}),
  createdAt: Whole,
  updatedAt: Type.Optional(Whole),
  expires: Type.Optional(Whole),
  remaining: Type.Optional(Whole),
  refill: Type.Optional(RefillObject),
  ratelimit: Type.Optional(
    strict({ async: Type.Boolean(), limit: Whole, duration: Whole, refillRate: Whole, refillInterval: Whole }),
  ),
  ratelimits: Type.Optional(Type.Array(NamedRatelimitObject)),
  roles: Type.Array(Text),
  permissions: Type.Array(Text),
  enabled: Type.Boolean(),
  environment: Type.Optional(Text),
  ipAllowlist: Type.Optional(Type.Array(Text)),
  lastUsedAt: Type.Optional(Whole),
  identity: Type.Optional(IdentityObject),
});

export function toKeyObject(view: KeyView, workspaceId: string): object {
  const { key, identity, permissions, remaining, lastUsedAtMs } = view;
  const others = key.limits.filter(({ name }) => name !== DEFAULT_LIMIT_NAME);
  const main = key.limits.find(({ name }) => name === DEFAULT_LIMIT_NAME);
  return {
    id: key.id,
    start: key.start,
    apiId: key.apiId,
    workspaceId,
    ...(key.name === null ? {} : { name: key.name }),
    ...(identity === null ? {} : { ownerId: identity.externalId }),
    meta: toMeta(key.meta),
    createdAt: key.createdAtMs,
    ...(key.updatedAtMs === null ? {} : { updatedAt: key.updatedAtMs }),
    ...(key.expiresAtMs === null ? {} : { expires: key.expiresAtMs }),
    ...(remaining === null ? {} : { remaining }),
    ...toRefillObject(key.credits, view),
    ...(main === undefined ? {} : { ratelimit: toRatelimit(main) }),
    ...(others.length === 0 ? {} : { ratelimits: others.map(toNamedRatelimit) }),
    roles: permissions?.roles.map(({ name }) => name) ?? [],
    permissions: permissions?.grants.map(({ slug }) => slug) ?? [],
    enabled: key.enabled,
    ...(key.environment === null ? {} : { environment: key.environment }),
    ...(key.ipAllowlist.length === 0 ? {} : { ipAllowlist: key.ipAllowlist }),
    ...(lastUsedAtMs === null ? {} : { lastUsedAt: lastUsedAtMs }),
    ...(identity === null ? {} : { identity: toIdentityObject(identity) }),
  };
}

export function toIdentityObject({ id, externalId, meta }: Pick<IdentityRecord, 'id' | 'externalId' | 'meta'>): object {
  return { id, externalId, meta: toMeta(meta) };
}

export function toMeta(text: string | null): object {
  return text === null ? {} : (JSON.parse(text) as object);
}

export function toRefillObject(credits: CreditsRecord | null, view: CreditsView): object {
  const { lastRefillAtMs, nextRefillAtMs } = view;
  const refill = credits?.refill;
  if (refill == null) return {};
  const { interval, amount, refillDay, timezone, mode, max } = refill;
  return {
    refill: {
      interval,
      amount,
      refillDay,
      timezone,
      mode,
      ...(max === null ? {} : { max }),
      ...(lastRefillAtMs === null ? {} : { lastRefillAt: lastRefillAtMs }),
      ...(nextRefillAtMs === null ? {} : { nextRefillAt: nextRefillAtMs }),
    },
  };
}

function toRatelimit({ async, limit, durationMs }: LimitRecord): object {
  return { async, limit, duration: durationMs, refillRate: limit, refillInterval: durationMs };
}

export function toNamedRatelimit({ name, limit, durationMs, async }: LimitRecord): object {
  return { name, limit, duration: durationMs, async };
}
