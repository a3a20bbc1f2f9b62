import { defineRoute } from './route.ts';
import { PlanId } from '../shapes/schema/commonFields.ts';
import { strict } from '../../model/schema/schemas.ts';

export const deletePlan = defineRoute({
  path: '/v1/plans.deletePlan',
  method: 'POST',
  summary: 'Delete a plan that nobody is on.',
  description: 'A plan that customers or keys are on answers 409 with their number. Move them to another plan first.',
  rights: ['plan.<planId>.delete_plan'],
  command: { asksFirst: 'always' },
  request: strict({ planId: PlanId }),
  response: strict({}),
  example: { request: { planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X' }, response: {} },
  errors: ['NOT_FOUND', 'CONFLICT'],
  async handle(engine, actor, { planId }) {
    await engine.plans.delete(actor, planId);
    return {};
  },
});
