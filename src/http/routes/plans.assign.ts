import { Type } from 'typebox';

import { defineRoute } from './route.ts';
import { field, optional } from '../shapes/described.ts';
import { EXAMPLE } from '../shapes/examples.ts';
import { IDENTITY_REFERENCE, PlanMoveObject, toIdentityReference, toPlanFields } from '../shapes/identityObject.ts';
import { IdentityId } from '../shapes/idFields.ts';
import { Id, orNull, strict, Text } from '../shapes/schemas.ts';

export const assignPlan = defineRoute({
  path: '/v1/plans.assign',
  method: 'POST',
  summary: 'Put an identity on a plan, or move it to another one.',
  description:
    'The balance stays unless `balance` says otherwise. An identity without credits that gets on a plan with credits begins with those of the plan. Assigning anew replaces a move that waits.',
  rights: ['identity.<identityId>.update_identity', 'plan.<planId>.assign_plan'],
  request: strict({
    ...IDENTITY_REFERENCE,
    planId: field(orNull(Id), 'The plan. null: the identity leaves its plan.', EXAMPLE.planId),
    when: optional(
      Type.Enum(['now', 'nextRefill']),
      '`now`, or `nextRefill`: at the next refill of the present plan, which is then one of the new plan. `now` when absent.',
      'nextRefill',
    ),
    balance: optional(
      Type.Enum(['keep', 'reset']),
      '`keep`: the balance stays. `reset`: it becomes the `remaining` of the new plan. `keep` when absent.',
      'keep',
    ),
  }),
  response: strict({
    identityId: IdentityId,
    planId: optional(Text, 'The plan that the identity is on. Absent when there is none.', EXAMPLE.planId),
    planMove: optional(PlanMoveObject, 'The move that waits for the next refill. Absent when there is none.'),
  }),
  example: {
    request: { externalId: 'user_1234', planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X' },
    response: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W', planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { planId, when = 'now', balance = 'keep', ...named }) {
    const holder = toIdentityReference(named);
    const identity = await engine.assignPlan.assign(actor, { holder, planId, when, balance });
    return { identityId: identity.id, ...toPlanFields(identity) };
  },
});
