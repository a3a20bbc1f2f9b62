import { toSharedRatelimit } from './heldPlanObject.ts';
import { type Static } from 'typebox';

import type { Issue } from '../../../core/errors.ts';
import type { PlanPatch, PlanView } from '../../../engine/admin/plans.ts';
import {
  AlertsInput,
  AlertsObject,
  Refill,
  RefillObject,
  showAlerts,
  SHOWN_METERED,
} from '../counters/creditFields.ts';
import { SharedRatelimitObject, SharedRatelimits } from '../counters/keyLimitFields.ts';
import { toSharedCounters } from './identityObject.ts';
import { badFields, checkedReferences, told } from '../schema/badFields.ts';
import { toRefillObject } from '../keys/keyObject.ts';
import { PermissionReferences, RoleReferences } from '../keys/permissionObject.ts';
import { PermissionId, PlanId, RoleId } from '../schema/commonFields.ts';
import { parsePlain, part, showPlain } from '../../../model/plainFields.ts';
import { PLAN_PLAIN, type PlanRecord } from '../../../model/plans.ts';
import { component, field, listOf, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { Count, Flag, orNull, strict, Text, Whole } from '../../../model/schema/schemas.ts';

export const PlanObject = component(
  'Plan',
  strict({
    id: PlanId,
    name: field(Text, 'The name of the plan. It is unique.', 'pro'),
    ...part(PLAN_PLAIN, 'shown'),
    remaining: optional(
      Whole,
      'The credits that a customer or key starts with on this plan. Absent when the plan has no credits.',
      1000,
    ),
    metered: SHOWN_METERED,
    refill: optional(RefillObject, 'The refill of the credits. Absent when there is none.'),
    ratelimits: listOf(
      SharedRatelimitObject,
      'The limits of each customer or key on the plan. `[]` when there are none.',
    ),
    roles: listOf(RoleId, 'The ids of the roles that the plan gives to keys. `[]` when it gives none.'),
    permissions: listOf(
      PermissionId,
      'The ids of the permissions that the plan gives to keys. `[]` when it gives none.',
    ),
    maxKeys: optional(Whole, 'How many keys a customer on the plan may have. Absent when any number is allowed.', 5),
    alerts: optional(
      AlertsObject,
      'When an event warns that credits run low or that a key is about to expire. Absent when none is set.',
    ),
    holders: field(Whole, 'How many customers, and keys without a customer, are on the plan or wait to move to it.', 3),
  }),
  'A plan: what a customer buys. A change of the plan applies to all customers and keys on it.',
  { id: EXAMPLE.planId, name: 'pro', meta: {}, ratelimits: [], roles: [], permissions: [], holders: 3 },
);

export function toPlanObject({ plan, holders }: PlanView): object {
  const rule = plan.refills.at(-1)?.rule ?? null;
  const never = { lastRefillAtMs: null, nextRefillAtMs: null };
  return {
    id: plan.id,
    name: plan.name,
    ...showPlain(PLAN_PLAIN, plan),
    ...(plan.remaining === null ? {} : { remaining: plan.remaining }),
    ...(plan.metered ? { metered: true } : {}),
    ...toRefillObject(rule, never),
    ratelimits: plan.limits.map(toSharedRatelimit),
    roles: plan.roleIds,
    permissions: plan.permissionIds,
    ...(plan.maxKeys === null ? {} : { maxKeys: plan.maxKeys }),
    ...showAlerts(plan.alerts),
    holders,
  };
}

/** The fields of a plan, beside its name and those of PLAN_PLAIN. null clears a field. */
export const PLAN_FIELDS = {
  remaining: optional(
    orNull(Count),
    'The credits that a customer or key starts with on this plan. Whether a plan has credits is decided when it is created, and cannot change. No credits when absent (or null).',
    1000,
  ),
  metered: optional(
    Flag,
    'true: the credits that each customer or key on the plan spends are counted exactly, without a balance. Not together with `remaining`. It is decided when the plan is created, and cannot change. false when absent.',
    true,
  ),
  refill: optional(
    orNull(Refill),
    'The refill of the credits. A new one first happens at its next scheduled time. Needs `remaining`. null: none.',
    { interval: 'monthly', amount: 1000 },
  ),
  ratelimits: optional(
    orNull(SharedRatelimits),
    'The rate limits of each customer or key on the plan, at most 50. A customer or key that has a limit of the same name uses its own.',
    [{ name: 'requests', limit: 10, duration: 1000 }],
  ),
  roles: optional(
    orNull(RoleReferences),
    'The roles that the plan gives to keys in addition to their own, at most 100: to all keys of its customers, and to the keys on the plan itself.',
    [{ name: 'editor' }],
  ),
  permissions: optional(
    orNull(PermissionReferences),
    'The permissions that the plan gives to keys in addition to their own, at most 1000: to all keys of its customers, and to the keys on the plan itself.',
    [{ name: 'documents.read' }],
  ),
  maxKeys: optional(
    orNull(Count),
    'How many keys a customer on the plan may have. Any number when absent (or null).',
    5,
  ),
  alerts: optional(
    orNull(AlertsInput),
    'When an event warns that credits run low or that a key is about to expire. What a customer or key sets itself takes precedence. `creditsBelow` is at most `remaining` of the plan. null: none.',
    { creditsBelow: 100 },
  ),
};

/** The fields of a plan that a request can set. */
interface PlanFields extends Partial<Record<keyof typeof PLAN_PLAIN, unknown>> {
  readonly name?: string;
  readonly maxKeys?: number | null;
  readonly alerts?: Static<typeof AlertsInput> | null;
  readonly ratelimits?: Static<typeof SharedRatelimits> | null;
  readonly remaining?: number | null;
  readonly metered?: boolean;
  readonly refill?: Static<typeof Refill> | null;
  readonly roles?: Static<typeof RoleReferences> | null;
  readonly permissions?: Static<typeof PermissionReferences> | null;
}

export function toPlanPatch(fields: PlanFields): PlanPatch {
  const issues: Issue[] = [];
  const { name, maxKeys, alerts, roles, permissions } = fields;
  const patch: PlanPatch = {
    ...(name === undefined ? {} : { name }),
    ...(maxKeys === undefined ? {} : { maxKeys }),
    ...(alerts === undefined ? {} : { alerts }),
    ...parsePlain<PlanRecord>(PLAN_PLAIN, fields, told(issues)),
    ...(roles === undefined ? {} : { roles: checkedReferences(roles ?? [], 'roles', issues) }),
    ...(permissions === undefined ? {} : { permissions: checkedReferences(permissions ?? [], 'permissions', issues) }),
    ...toSharedCounters(fields, issues),
  };
  if (issues.length > 0) throw badFields(issues);
  return patch;
}
