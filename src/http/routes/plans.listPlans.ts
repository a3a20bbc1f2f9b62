import { MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { listOf } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { nextCursor, pageCursor, PageLimit, Total } from '../shapes/schema/commonFields.ts';
import { PlanObject, toPlanObject } from '../shapes/holders/planObject.ts';
import { cursorAt, strict } from '../../model/schema/schemas.ts';

export const listPlans = defineRoute({
  path: '/v1/plans.listPlans',
  method: 'GET',
  summary: 'List plans, oldest first.',
  rights: ['plan.*.read_plan'],
  command: { columns: ['id', 'name', 'remaining', 'metered', 'refill', 'ratelimits', 'maxKeys', 'holders'] },
  request: strict({ limit: PageLimit, cursor: pageCursor(cursorAt('plan'), EXAMPLE.planId) }),
  response: strict({
    plans: listOf(PlanObject, 'The plans of this page.'),
    total: Total,
    cursor: nextCursor(EXAMPLE.planId),
  }),
  example: {
    request: { limit: 10 },
    response: {
      plans: [
        {
          id: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X',
          name: 'pro',
          meta: {},
          remaining: 1000,
          ratelimits: [],
          roles: [],
          permissions: [],
          holders: 3,
        },
      ],
      total: 1,
    },
  },
  errors: [],
  async handle(engine, actor, { limit = MAX_PAGE_SIZE, cursor = null }) {
    const page = await engine.plans.list(actor, { limit, after: cursor });
    const plans = page.plans.map(toPlanObject);
    return { plans, total: page.total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
  },
});
