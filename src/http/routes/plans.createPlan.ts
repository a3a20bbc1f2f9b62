import { defineRoute } from './route.ts';
import { part } from '../../model/plainFields.ts';
import { PLAN_PLAIN } from '../../model/plans.ts';
import { field, optional } from '../../model/schema/described.ts';
import { NEW_PLAN_RIGHTS, PlanId } from '../shapes/schema/commonFields.ts';
import { PLAN_FIELDS, toPlanPatch } from '../shapes/holders/planObject.ts';
import { Name, orNull, strict } from '../../model/schema/schemas.ts';

export const createPlan = defineRoute({
  path: '/v1/plans.createPlan',
  method: 'POST',
  summary: 'Create a plan: the credits, limits and permissions that a customer buys.',
  description:
    'Put customers, and keys without a customer, on it with `plans.assign`. A change of the plan applies to all of them.',
  rights: ['plan.*.create_plan'],
  fieldRights: NEW_PLAN_RIGHTS,
  request: strict({
    name: field(Name, 'The name of the plan, 1 to 256 characters. It is unique.', 'pro'),
    ...PLAN_FIELDS,
    ...part(PLAN_PLAIN, 'created'),
    // Like the other fields of a new plan, it accepts null.
    meta: optional(
      orNull(PLAN_PLAIN.meta.created),
      'Metadata of the plan, which is not part of verdicts. null: none.',
      {
        price: '29 EUR',
      },
    ),
  }),
  response: strict({ planId: PlanId }),
  example: {
    request: {
      name: 'pro',
      remaining: 1000,
      refill: { interval: 'monthly', amount: 1000 },
      ratelimits: [{ name: 'requests', limit: 10, duration: 1000 }],
    },
    response: { planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X' },
  },
  errors: ['CONFLICT', 'NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { name, ...fields }) {
    return { planId: await engine.plans.create(actor, name, toPlanPatch(fields)) };
  },
});
