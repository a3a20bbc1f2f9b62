import { defineRoute } from './route.ts';
import { PlanId } from '../shapes/schema/commonFields.ts';
import { PlanObject, toPlanObject } from '../shapes/holders/planObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const getPlan = defineRoute({
  path: '/v1/plans.getPlan',
  method: 'GET',
  summary: 'Read one plan, and how many customers and keys are on it.',
  rights: ['plan.<planId>.read_plan'],
  request: strict({ planId: PlanId }),
  response: PlanObject,
  example: {
    request: { planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X' },
    response: {
      id: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X',
      name: 'pro',
      meta: {},
      remaining: 1000,
      ratelimits: [{ name: 'requests', limit: 10, duration: 1000, async: true, autoApply: true }],
      roles: [],
      permissions: [],
      holders: 3,
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { planId }) {
    return toPlanObject(await engine.plans.get(actor, planId));
  },
});
