import { Type } from 'typebox';

import { defineRoute } from './route.ts';
import { field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { HOLDER_RIGHTS, IdentityId, KeyId } from '../shapes/schema/commonFields.ts';
import { HOLDER_REFERENCE, toHolderReference } from '../shapes/holders/identityObject.ts';
import { SHOWN_PLAN_FIELDS, toPlanFields } from '../shapes/schema/planMoveObject.ts';
import { CallIdempotencyKey, REPLAYED } from '../shapes/counters/creditFields.ts';
import { PLAN_BALANCES } from '../../core/records.ts';
import { Flag, Id, IDEMPOTENCY_WORDS, orNull, strict } from '../../model/schema/schemas.ts';

export const assignPlan = defineRoute({
  path: '/v1/plans.assign',
  method: 'POST',
  summary: 'Put an identity, or a key without one, on a plan, or move it to another one.',
  description:
    'The balance stays unless `balance` says otherwise. `upgrade` and `reset` leave what reservations hold: what these return comes on top of the new balance. The same plan again changes nothing, so events of a payment provider may repeat. A holder without credits that gets on a plan with credits begins with those of the plan. Assigning anew replaces a move that waits. A key of an identity has no plan of its own: it follows the plan of its identity, and `keyId` answers 412.',
  rights: ['plan.<planId>.assign_plan'],
  // With `planId: null` nothing is assigned.
  leastRights: ['api.<apiId>.update_key', 'identity.<identityId>.update_identity'],
  fieldRights: HOLDER_RIGHTS,
  request: strict({
    ...HOLDER_REFERENCE,
    planId: field(orNull(Id), 'The plan. null: the holder leaves its plan.', EXAMPLE.planId),
    when: optional(
      Type.Enum(['now', 'nextRefill']),
      '`now`, or `nextRefill`: at the next refill of the present plan, which is then one of the new plan. `now` when absent.',
      'nextRefill',
    ),
    balance: optional(
      Type.Enum(PLAN_BALANCES),
      '`keep`: the balance stays. `upgrade`: what the plan gives becomes the `remaining` of the new plan, and what was granted stays. `reset`: the whole balance becomes the `remaining` of the new plan, and what was granted is gone. `keep` when absent.',
      'upgrade',
    ),
    force: optional(
      Flag,
      'true: assigns the plan that the holder is on already once more, so that `balance` sets the balance again. Otherwise that changes nothing but a move that waits, which is withdrawn.',
      true,
    ),
    idempotencyKey: optional(
      CallIdempotencyKey,
      `Makes a retry safe: ${IDEMPOTENCY_WORDS}. A repeated call with the same key changes nothing, also when the holder is on another plan by now. For example the id of the event of your payment provider.`,
      'evt_1Nabc',
    ),
  }),
  response: strict({
    identityId: optional(IdentityId, 'The identity. Absent when the holder is a key.'),
    keyId: optional(KeyId, 'The key. Absent when the holder is an identity.'),
    ...SHOWN_PLAN_FIELDS,
    replayed: REPLAYED,
  }),
  example: {
    request: { externalId: 'user_1234', planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X' },
    response: { identityId: 'id_1Jm8ZtXh5nQq7GiK2tRv6W', planId: 'plan_1Jm8ZtXk7pTt8HmN5wVz4X' },
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  async handle(
    engine,
    actor,
    { planId, when = 'now', balance = 'keep', force = false, idempotencyKey = null, ...named },
  ) {
    const assignment = {
      holder: toHolderReference(named),
      planId,
      when,
      balance,
      force,
      idempotencyId: idempotencyKey,
    };
    const { holder, replayed } = await engine.assignPlan.assign(actor, assignment);
    const { kind, record } = holder;
    const id = kind === 'key' ? { keyId: record.id } : { identityId: record.id };
    return { ...id, ...toPlanFields(record), ...(replayed ? { replayed } : {}) };
  },
});
