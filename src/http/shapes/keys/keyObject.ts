import { Type } from 'typebox';

import { DEFAULT_LIMIT_NAME, type LimitRecord, type PlanLimit, type RefillRule } from '../../../core/records.ts';
import type { CreditsView, KeyView } from '../../../engine/admin/readKeys.ts';
import {
  AlertsObject,
  BALANCE_FIELDS,
  RefillObject,
  showAlerts,
  SHOWN_METERED,
  toBalance,
} from '../counters/creditFields.ts';
import { RatelimitObject, ShownRatelimits } from '../counters/keyLimitFields.ts';
import { SHOWN_PLAN_FIELDS, toPlanFields } from '../schema/planMoveObject.ts';
import { ApiId, IdentityId, KeyId, WorkspaceId } from '../schema/commonFields.ts';
import type { IdentityRecord } from '../../../model/identities.ts';
import { KEY_PLAIN } from '../../../model/keys.ts';
import { part, showPlain, toMeta } from '../../../model/plainFields.ts';
import { component, field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { Meta, strict, Text, Whole } from '../../../model/schema/schemas.ts';

const Texts = Type.Array(Text);

export const ExternalIdObject = field(Text, 'Your own id of the customer.', EXAMPLE.externalId);

const IdentityObject = component(
  'IdentityReference',
  strict({
    id: IdentityId,
    externalId: ExternalIdObject,
    meta: field(Meta, 'Metadata of the customer. `{}` when none is set.'),
  }),
  'The customer that a key belongs to.',
  { id: EXAMPLE.identityId, externalId: EXAMPLE.externalId, meta: { plan: 'pro' } },
);

const PLAIN = part(KEY_PLAIN, 'shown');

/** The fields of a key that getKey and a verdict show alike. */
export const SHOWN_KEY_FIELDS = {
  name: PLAIN.name,
  ownerId: optional(
    Text,
    'Your own id of the customer that the key belongs to: its `externalId`. Absent when the key has no customer.',
    EXAMPLE.externalId,
  ),
  expires: optional(
    Whole,
    'When the key stops being valid, in unix milliseconds. Absent when it does not expire.',
    1798761600000,
  ),
  meta: PLAIN.meta,
  environment: PLAIN.environment,
  identity: optional(IdentityObject, 'The customer that the key belongs to. Absent when the key has no customer.'),
};

const KeyStart = field(
  Text,
  'The beginning of the secret: the prefix and four characters. People recognise the key by it; nobody can use it as a key.',
  'demo_7Kq2',
);

/** Fields that are not set are left out. */
export const KEY_FIELDS = {
  id: KeyId,
  start: KeyStart,
  apiId: ApiId,
  workspaceId: WorkspaceId,
  ...PLAIN,
  ownerId: SHOWN_KEY_FIELDS.ownerId,
  createdAt: field(Whole, 'When the key was created, in unix milliseconds.', EXAMPLE.midnight),
  updatedAt: optional(
    Whole,
    'When the key was last changed, in unix milliseconds. Absent when it was never changed.',
    EXAMPLE.nextMidnight,
  ),
  expires: SHOWN_KEY_FIELDS.expires,
  remaining: optional(
    Whole,
    'The credits that the key has left. Refills that are due are included. Absent when the key is unlimited.',
    97,
  ),
  ...BALANCE_FIELDS,
  metered: SHOWN_METERED,
  refill: optional(
    RefillObject,
    'The refill of the credits. Absent when there is none. A refill that comes from a plan is shown with the plan.',
  ),
  ratelimit: optional(RatelimitObject, 'The rate limit with the name `default`. Absent when there is none.'),
  ratelimits: optional(ShownRatelimits, 'The further rate limits of the key. Absent when there are none.'),
  roles: field(Texts, 'The names of the roles of the key. `[]` when it has none.', ['editor']),
  permissions: field(
    Texts,
    'The slugs of all permissions of the key, its own and those of its roles, sorted. `[]` when it has none.',
    ['documents.read'],
  ),
  ipAllowlist: optional(
    Texts,
    'The addresses and CIDR blocks that the key may be used from. Absent when every address is allowed.',
    ['203.0.113.0/24'],
  ),
  ...SHOWN_PLAN_FIELDS,
  alerts: optional(
    AlertsObject,
    'When an event warns that the key is about to expire, or that its credits run low. Absent when the key itself sets none.',
  ),
  lastUsedAt: optional(
    Whole,
    'When the key was last verified, with any verdict, in unix milliseconds. Written some seconds later, at most once a minute. Absent when the key was never used or analytics are off.',
    1783080000000,
  ),
  identity: SHOWN_KEY_FIELDS.identity,
};

export const KEY_EXAMPLE = {
  id: EXAMPLE.keyId,
  start: 'demo_7Kq2',
  apiId: EXAMPLE.apiId,
  workspaceId: EXAMPLE.workspaceId,
  meta: {},
  createdAt: EXAMPLE.midnight,
  remaining: 3,
  roles: [],
  permissions: [],
  enabled: true,
};

/** A key as lists show it. */
export const KeyObject = component(
  'Key',
  strict(KEY_FIELDS),
  'A key, without its secret. Fields that are not set are absent.',
  KEY_EXAMPLE,
);

export function toKeyObject(view: KeyView, workspaceId: string): object {
  const { key, identity, permissions, lastUsedAtMs } = view;
  const others = key.limits.filter(({ name }) => name !== DEFAULT_LIMIT_NAME);
  const main = key.limits.find(({ name }) => name === DEFAULT_LIMIT_NAME);
  return {
    id: key.id,
    start: key.start,
    apiId: key.apiId,
    workspaceId,
    ...showPlain(KEY_PLAIN, key),
    ...(identity === null ? {} : { ownerId: identity.externalId }),
    createdAt: key.createdAtMs,
    ...(key.updatedAtMs === null ? {} : { updatedAt: key.updatedAtMs }),
    ...(key.expiresAtMs === null ? {} : { expires: key.expiresAtMs }),
    ...toBalance(view),
    ...(key.credits?.metered ? { metered: true } : {}),
    ...toRefillObject(key.credits?.refill ?? null, view),
    ...(main === undefined ? {} : { ratelimit: toRatelimit(main) }),
    ...(others.length === 0 ? {} : { ratelimits: others.map(toNamedRatelimit) }),
    roles: permissions?.roles.map(({ name }) => name) ?? [],
    permissions: permissions?.grants.map(({ slug }) => slug) ?? [],
    ...(key.ipAllowlist.length === 0 ? {} : { ipAllowlist: key.ipAllowlist }),
    ...toPlanFields(key),
    ...showAlerts(key.alerts),
    ...(lastUsedAtMs === null ? {} : { lastUsedAt: lastUsedAtMs }),
    ...(identity === null ? {} : { identity: toIdentityObject(identity) }),
  };
}

export function toIdentityObject({ id, externalId, meta }: Pick<IdentityRecord, 'id' | 'externalId' | 'meta'>): object {
  return { id, externalId, meta: toMeta(meta) };
}

type RefillTimes = Pick<CreditsView, 'lastRefillAtMs' | 'nextRefillAtMs'>;

export function toRefillObject(refill: RefillRule | null, view: RefillTimes): object {
  const { lastRefillAtMs, nextRefillAtMs } = view;
  if (refill === null) return {};
  const { interval, amount, refillDay, refillWeekday, timezone, mode, max } = refill;
  return {
    refill: {
      interval,
      amount,
      refillDay,
      ...(interval === 'weekly' ? { refillWeekday: refillWeekday ?? 1 } : {}),
      timezone,
      mode,
      ...(max === null ? {} : { max }),
      ...(lastRefillAtMs === null ? {} : { lastRefillAt: lastRefillAtMs }),
      ...(nextRefillAtMs === null ? {} : { nextRefillAt: nextRefillAtMs }),
    },
  };
}

export function toRatelimit({ async, limit, durationMs, notify }: LimitRecord): object {
  const shown = { async, limit, duration: durationMs, refillRate: limit, refillInterval: durationMs };
  return { ...shown, ...(notify ? { notify } : {}) };
}

export function toNamedRatelimit({ name, limit, durationMs, async, notify }: PlanLimit): object {
  return { name, limit, duration: durationMs, async, ...(notify ? { notify } : {}) };
}
