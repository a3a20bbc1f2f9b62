import { defineRoute } from './route.ts';
import { part } from '../../model/plainFields.ts';
import { PLAN_PLAIN } from '../../model/plans.ts';
import { optional } from '../../model/schema/described.ts';
import { CHANGED_PLAN_RIGHTS, PlanId } from '../shapes/schema/commonFields.ts';
import { PLAN_FIELDS, PlanObject, toPlanObject, toPlanPatch } from '../shapes/holders/planObject.ts';
import { Name, strict } from '../../model/schema/schemas.ts';

export const updatePlan = defineRoute({
  path: '/v1/plans.updatePlan',
  method: 'POST',
  summary: 'Change a plan for all customers and keys on it at once.',
  description:
    'null clears a field; a field that is left out stays as it is. Present credits do not change. A new `refill` first happens at its next scheduled time; a refill that was missed before follows the old rule. A new `remaining` applies to customers and keys that join later.',
  rights: ['plan.<planId>.update_plan'],
  fieldRights: CHANGED_PLAN_RIGHTS,
  request: strict({
    planId: PlanId,
    name: optional(Name, 'A new name, 1 to 256 characters. It stays when absent.', 'pro'),
    ...PLAN_FIELDS,
    ...part(PLAN_PLAIN, 'changed'),
  }),
  response: PlanObject,
  example: {
    request: { planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X', ratelimits: [{ name: 'requests', limit: 20, duration: 1000 }] },
    response: {
      id: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X',
      name: 'pro',
      meta: {},
      remaining: 1000,
      ratelimits: [{ name: 'requests', limit: 20, duration: 1000, async: true, autoApply: true }],
      roles: [],
      permissions: [],
      holders: 3,
    },
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { planId, ...fields }) {
    return toPlanObject(await engine.plans.update(actor, planId, toPlanPatch(fields)));
  },
});
