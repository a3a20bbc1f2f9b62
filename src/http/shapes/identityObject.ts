import { type Static, Type } from 'typebox';

import type { CounterPatch } from '../../core/counterPatch.ts';
import type { Issue } from '../../core/errors.ts';
import { planLimits } from '../../core/plan.ts';
import { DEFAULT_LIMIT_NAME, type IdentityRecord, type PlanLimit, type PlanRecord } from '../../core/records.ts';
import type { IdentityDetails, IdentityPatch, IdentityView } from '../../engine/admin/identities/identityAdmin.ts';
import type { IdentityReference } from '../../engine/admin/identities/loadIdentity.ts';
import { AlertsObject, showAlerts, toAlerts } from './alertFields.ts';
import { badFields, toMetaText, toNamedLimits, toRefill } from './keyFields.ts';
import { type Refill, RefillObject } from './creditFields.ts';
import { component, field, listOf, optional } from './described.ts';
import { EXAMPLE } from './examples.ts';
import { IdentityId, PlanId } from './idFields.ts';
import { ExternalIdObject, toMeta, toNamedRatelimit, toRefillObject } from './keyObject.ts';
import { SharedRatelimitObject, type SharedRatelimits, UsedRatelimitObject } from './rateLimitFields.ts';
import { ExternalId, Flag, Meta, orNull, strict, Text, Whole } from './schemas.ts';

/** An identity is named by one of these two. */
export const IDENTITY_REFERENCE = {
  identityId: optional(IdentityId, 'The id of the identity. Give either `identityId` or `externalId`.'),
  externalId: optional(
    ExternalId,
    'Your own id of the owner, 1 to 256 characters. Give either `identityId` or `externalId`.',
    EXAMPLE.externalId,
  ),
};

export const PlanMoveObject = component(
  'PlanMove',
  strict({
    planId: field(orNull(Text), 'The plan that it moves to. null: it leaves its plan.', EXAMPLE.planId),
    at: field(Whole, 'When it moves, in unix milliseconds: at the next refill.', EXAMPLE.nextMidnight),
    balance: field(Type.Enum(['keep', 'reset']), 'Whether the balance stays or begins anew.', 'keep'),
  }),
  'A move to another plan that was put off until the next refill.',
  { planId: EXAMPLE.planId, at: EXAMPLE.nextMidnight, balance: 'keep' },
);

const SHOWN_LIMITS = 'The rate limits that the keys of the identity share. `[]` when there are none.';

const SHOWN_FIELDS = {
  id: IdentityId,
  externalId: ExternalIdObject,
  name: optional(Text, 'The name of the identity, for people. Absent when none is set.', 'Acme Inc.'),
  meta: field(Meta, 'Metadata of the identity. `{}` when none is set.'),
  enabled: field(Flag, 'false: verifications of all keys of the identity answer DISABLED.', true),
  maxKeys: optional(Whole, 'How many keys the identity may have. Absent when any number is allowed.', 5),
  planId: optional(Text, 'The plan that the identity is on. Absent when there is none.', EXAMPLE.planId),
  planMove: optional(
    PlanMoveObject,
    'A move to another plan that waits for the next refill. Absent when there is none.',
  ),
  alerts: optional(
    AlertsObject,
    'When an event tells that a key of the identity is about to expire. Absent when none is set.',
  ),
  remaining: optional(
    Whole,
    'The credits that the keys of the identity share, as many as are left. Absent when the identity has no counter.',
    1000,
  ),
  refill: optional(
    RefillObject,
    'The refill of the credits. Absent when there is none. The refill of a plan stands with the plan.',
  ),
};

const WHAT_IT_IS =
  'An identity: one of your users or organisations, with limits and credits that all its keys share. Fields that are not set are absent.';

/** An identity as it is shown. Fields that are not set are left out. */
export const FullIdentityObject = component(
  'Identity',
  strict({ ...SHOWN_FIELDS, ratelimits: listOf(SharedRatelimitObject, SHOWN_LIMITS) }),
  WHAT_IT_IS,
  { id: EXAMPLE.identityId, externalId: EXAMPLE.externalId, meta: {}, enabled: true, ratelimits: [] },
);

const HeldPlanObject = component(
  'HeldPlan',
  strict({
    id: PlanId,
    name: field(Text, 'The name of the plan.', 'pro'),
    ratelimits: listOf(
      UsedRatelimitObject,
      'The limits of the plan that apply to the identity, with what it has used of them.',
    ),
    refill: optional(RefillObject, 'The refill of the plan. Absent when there is none, or the identity has its own.'),
    maxKeys: optional(Whole, 'How many keys the plan allows. Absent when any number is allowed.', 5),
  }),
  'A plan as it is for one of its holders. A field that the holder has itself takes precedence.',
  { id: EXAMPLE.planId, name: 'pro', ratelimits: [] },
);

/** With what is counted. */
export const IdentityDetailsObject = component(
  'IdentityDetails',
  strict({
    ...SHOWN_FIELDS,
    keys: field(Whole, 'How many keys the identity has, in all apis. Deleted keys do not count.', 2),
    ratelimits: listOf(UsedRatelimitObject, SHOWN_LIMITS),
    plan: optional(HeldPlanObject, 'What the identity gets from its plan. Absent when it is on none.'),
  }),
  WHAT_IT_IS,
  { id: EXAMPLE.identityId, externalId: EXAMPLE.externalId, meta: {}, enabled: true, keys: 2, ratelimits: [] },
);

export function toIdentityDetails(details: IdentityDetails): object {
  const { identity, keys, used, plan } = details;
  const ratelimits = identity.limits.map((limit, i) => ({
    ...toSharedRatelimit(limit),
    used: used[i]?.used ?? 0,
    reset: used[i]?.resetAtMs ?? 0,
  }));
  return {
    ...toFullIdentity(details),
    keys,
    ratelimits,
    ...(plan === null ? {} : { plan: toHeldPlan(plan, details) }),
  };
}

/** Limits that the identity replaces by its own are left out. */
function toHeldPlan(plan: PlanRecord, details: IdentityDetails): object {
  const { identity, planUsed } = details;
  const applied = planLimits(identity.limits, plan);
  const ratelimits = plan.limits.flatMap((limit, i) =>
    applied.includes(limit)
      ? { ...toSharedRatelimit(limit), used: planUsed[i]?.used ?? 0, reset: planUsed[i]?.resetAtMs ?? 0 }
      : [],
  );
  const rule = identity.credits?.refill == null ? (plan.refills.at(-1)?.rule ?? null) : null;
  return {
    id: plan.id,
    name: plan.name,
    ratelimits,
    ...(rule === null ? {} : toRefillObject(rule, details)),
    ...(plan.maxKeys === null ? {} : { maxKeys: plan.maxKeys }),
  };
}

export function toSharedRatelimit(limit: PlanLimit): object {
  return { ...toNamedRatelimit(limit), autoApply: limit.autoApply !== false };
}

export function toFullIdentity(view: IdentityView): object {
  const { identity, remaining } = view;
  return {
    id: identity.id,
    externalId: identity.externalId,
    ...(identity.name === null ? {} : { name: identity.name }),
    meta: toMeta(identity.meta),
    enabled: identity.enabled,
    ...(identity.maxKeys === null ? {} : { maxKeys: identity.maxKeys }),
    ...toPlanFields(identity),
    ...showAlerts(identity.alerts),
    ratelimits: identity.limits.map(toSharedRatelimit),
    ...(remaining === null ? {} : { remaining }),
    ...toRefillObject(identity.credits?.refill ?? null, view),
  };
}

export function toPlanFields({ planId, planMove }: IdentityRecord): object {
  const move = planMove && { planId: planMove.planId, at: planMove.atMs, balance: planMove.balance };
  return { ...(planId === null ? {} : { planId }), ...(move === null ? {} : { planMove: move }) };
}

/** The fields of an identity that a request can set. */
export interface IdentityFields extends SharedCounterFields {
  readonly name?: string | null;
  readonly meta?: object | null;
  readonly enabled?: boolean;
  readonly maxKeys?: number | null;
  readonly alerts?: Static<typeof AlertsObject> | null;
}

export interface SharedCounterFields {
  readonly ratelimits?: Static<typeof SharedRatelimits> | null;
  readonly remaining?: number | null;
  readonly refill?: Static<typeof Refill> | null;
}

/** Reports its problems together with `issues`. */
export function toIdentityPatch(fields: IdentityFields, before: readonly Issue[] = []): IdentityPatch {
  const issues = [...before];
  const patch: IdentityPatch = {
    ...(fields.name === undefined ? {} : { name: fields.name }),
    ...(fields.enabled === undefined ? {} : { enabled: fields.enabled }),
    ...(fields.maxKeys === undefined ? {} : { maxKeys: fields.maxKeys }),
    ...(fields.alerts === undefined ? {} : { alerts: toAlerts(fields.alerts) }),
    ...(fields.meta === undefined ? {} : { meta: toMetaText(fields.meta, issues) }),
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
