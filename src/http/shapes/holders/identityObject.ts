import type { Static } from 'typebox';

import type { CounterPatch } from '../../../core/counterPatch.ts';
import type { Issue } from '../../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../../core/records.ts';
import type {
  IdentityDetails,
  IdentityPatch,
  IdentityReference,
  IdentityView,
} from '../../../engine/admin/identities.ts';
import type { HolderReference } from '../../../engine/admin/plans.ts';
import {
  type AlertsInput,
  AlertsObject,
  BALANCE_FIELDS,
  type Refill,
  RefillObject,
  showAlerts,
  SHOWN_METERED,
  toBalance,
} from '../counters/creditFields.ts';
import { SharedRatelimitObject, type SharedRatelimits, UsedRatelimitObject } from '../counters/keyLimitFields.ts';
import { HeldPlanObject, toHeldPlan, toSharedRatelimit, toUsedRatelimit } from './heldPlanObject.ts';
import { SHOWN_PLAN_FIELDS, toPlanFields } from '../schema/planMoveObject.ts';
import { toNamedLimits, toRefill } from '../keys/keyFields.ts';
import { badFields, told } from '../schema/badFields.ts';
import { ExternalIdObject, toRefillObject } from '../keys/keyObject.ts';
import { IdentityId, KeyId } from '../schema/commonFields.ts';
import { IDENTITY_PLAIN, type IdentityRecord } from '../../../model/identities.ts';
import { parsePlain, part, showPlain } from '../../../model/plainFields.ts';
import { component, field, listOf, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { ExternalId, strict, Whole } from '../../../model/schema/schemas.ts';

/** An identity is named by one of these two. */
export const IDENTITY_REFERENCE = {
  identityId: optional(IdentityId, 'The id of the customer. Give either `identityId` or `externalId`.'),
  externalId: optional(
    ExternalId,
    'Your own id of the customer, 1 to 256 characters. Give either `identityId` or `externalId`.',
    EXAMPLE.externalId,
  ),
};

const SHOWN_LIMITS = 'The rate limits that all keys of the customer share. `[]` when there are none.';

const SHOWN_FIELDS = {
  id: IdentityId,
  externalId: ExternalIdObject,
  ...part(IDENTITY_PLAIN, 'shown'),
  maxKeys: optional(Whole, 'How many keys the customer may have. Absent when any number is allowed.', 5),
  ...SHOWN_PLAN_FIELDS,
  alerts: optional(
    AlertsObject,
    'When an event warns that the credits of the customer run low, or that one of its keys is about to expire. Absent when none is set.',
  ),
  remaining: optional(
    Whole,
    'The credits that are left for all keys of the customer. Absent when its credits are not counted.',
    1000,
  ),
  ...BALANCE_FIELDS,
  metered: SHOWN_METERED,
  refill: optional(
    RefillObject,
    'The refill of the credits. Absent when there is none. A refill that comes from a plan is shown with the plan.',
  ),
};

const WHAT_IT_IS =
  'A customer: one of your users or organisations, with limits and credits that all its keys share. Fields that are not set are absent.';

/** An identity as it is shown. Fields that are not set are left out. */
export const FullIdentityObject = component(
  'Identity',
  strict({ ...SHOWN_FIELDS, ratelimits: listOf(SharedRatelimitObject, SHOWN_LIMITS) }),
  WHAT_IT_IS,
  { id: EXAMPLE.identityId, externalId: EXAMPLE.externalId, meta: {}, enabled: true, ratelimits: [] },
);

/** An identity by itself: with its number of keys and what it has used of its limits. */
export const IdentityDetailsObject = component(
  'IdentityDetails',
  strict({
    ...SHOWN_FIELDS,
    keys: field(Whole, 'How many keys the customer has, in all apis. Deleted keys do not count.', 2),
    ratelimits: listOf(UsedRatelimitObject, SHOWN_LIMITS),
    plan: optional(HeldPlanObject, 'What the customer gets from its plan. Absent when it is on none.'),
  }),
  WHAT_IT_IS,
  { id: EXAMPLE.identityId, externalId: EXAMPLE.externalId, meta: {}, enabled: true, keys: 2, ratelimits: [] },
);

export function toIdentityDetails(details: IdentityDetails): object {
  const { identity, keys, used } = details;
  const ratelimits = identity.limits.map((limit, i) => toUsedRatelimit(limit, used[i]));
  return { ...toFullIdentity(details), keys, ratelimits, ...toHeldPlan(identity, details) };
}

export function toFullIdentity(view: IdentityView): object {
  const { identity } = view;
  return {
    id: identity.id,
    externalId: identity.externalId,
    ...showPlain(IDENTITY_PLAIN, identity),
    ...(identity.maxKeys === null ? {} : { maxKeys: identity.maxKeys }),
    ...toPlanFields(identity),
    ...showAlerts(identity.alerts),
    ratelimits: identity.limits.map(toSharedRatelimit),
    ...toBalance(view),
    ...(identity.credits?.metered ? { metered: true } : {}),
    ...toRefillObject(identity.credits?.refill ?? null, view),
  };
}

/** The fields of an identity that a request can set. */
interface IdentityFields extends SharedCounterFields, Partial<Record<keyof typeof IDENTITY_PLAIN, unknown>> {
  readonly maxKeys?: number | null;
  readonly alerts?: Static<typeof AlertsInput> | null;
}

interface SharedCounterFields {
  readonly ratelimits?: Static<typeof SharedRatelimits> | null;
  readonly remaining?: number | null;
  readonly metered?: boolean;
  readonly refill?: Static<typeof Refill> | null;
}

/** Reports its problems together with `issues`. */
export function toIdentityPatch(fields: IdentityFields, before: readonly Issue[] = []): IdentityPatch {
  const issues = [...before];
  const patch: IdentityPatch = {
    ...parsePlain<IdentityRecord>(IDENTITY_PLAIN, fields, told(issues)),
    ...(fields.maxKeys === undefined ? {} : { maxKeys: fields.maxKeys }),
    ...(fields.alerts === undefined ? {} : { alerts: fields.alerts }),
    ...toSharedCounters(fields, issues),
  };
  if (issues.length > 0) throw badFields(issues);
  return patch;
}

/** The credits and limits of an identity or a plan. */
export function toSharedCounters(fields: SharedCounterFields, issues: Issue[]): CounterPatch {
  const limits = fields.ratelimits === undefined ? undefined : toNamedLimits(fields.ratelimits ?? [], issues);
  return {
    ...(fields.remaining === undefined ? {} : { remaining: fields.remaining }),
    ...(fields.metered === undefined ? {} : { metered: fields.metered }),
    ...(fields.refill === undefined ? {} : { refill: toRefill(fields.refill, issues) }),
    ...(limits === undefined
      ? {}
      : {
          defaultLimit: limits.find(({ name }) => name === DEFAULT_LIMIT_NAME) ?? null,
          otherLimits: limits.filter(({ name }) => name !== DEFAULT_LIMIT_NAME),
        }),
  };
}

/** An identity is named by its id or by its externalId, never by both. */
export function toIdentityReference(body: { identityId?: string; externalId?: string }): IdentityReference {
  const { identityId, externalId } = body;
  if (identityId !== undefined && externalId === undefined) return { id: identityId };
  if (externalId !== undefined && identityId === undefined) return { externalId };
  throw badFields([{ path: 'identityId', message: 'give either identityId or externalId' }]);
}

const ONE_OF = 'Give one of `keyId`, `identityId` and `externalId`.';

/** A key or an identity is named by one of these. */
export const HOLDER_REFERENCE = {
  keyId: optional(KeyId, `The id of a key. ${ONE_OF}`),
  identityId: optional(IdentityId, `The id of a customer. ${ONE_OF}`),
  externalId: optional(ExternalId, `Your own id of a customer, 1 to 256 characters. ${ONE_OF}`, EXAMPLE.externalId),
};

export function toHolderReference(body: { keyId?: string; identityId?: string; externalId?: string }): HolderReference {
  const { keyId, identityId, externalId } = body;
  const named: HolderReference[] = [];
  if (keyId !== undefined) named.push({ keyId });
  if (identityId !== undefined) named.push({ id: identityId });
  if (externalId !== undefined) named.push({ externalId });
  const [holder] = named;
  if (holder !== undefined && named.length === 1) return holder;
  throw badFields([{ path: 'keyId', message: 'give one of keyId, identityId and externalId' }]);
}
