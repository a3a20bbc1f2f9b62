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
  summary: 'Put a customer, or a key without a customer, on a plan, or move it to another plan.',
  description:
    'The credits stay unless `balance` says otherwise. `upgrade` and `reset` do not change what reservations hold: what they return is added to the new credits. Assigning the same plan again changes nothing, so your payment provider may repeat its events. A customer or key without credits starts with those of the plan. A new assignment replaces a move that waits. A key of a customer uses the plan of its customer: to name it as `keyId` answers 412.',
  rights: ['plan.<planId>.assign_plan'],
  // With `planId: null` nothing is assigned.
  leastRights: ['api.<apiId>.update_key', 'identity.<identityId>.update_identity'],
  fieldRights: HOLDER_RIGHTS,
  request: strict({
    ...HOLDER_REFERENCE,
    planId: field(orNull(Id), 'The plan. null: the customer or key leaves its plan.', EXAMPLE.planId),
    when: optional(
      Type.Enum(['now', 'nextRefill']),
      '`now`, or `nextRefill`: when the present plan would refill next. That refill is then one of the new plan. `now` when absent.',
      'nextRefill',
    ),
    balance: optional(
      Type.Enum(PLAN_BALANCES),
      '`keep`: the credits stay. `upgrade`: the credits that were not granted become the `remaining` of the new plan, and granted credits stay. `reset`: all credits become the `remaining` of the new plan, and granted credits are lost. `keep` when absent.',
      'upgrade',
    ),
    force: optional(
      Flag,
      'true: assigns the present plan once more, so that `balance` applies again. Otherwise, assigning the present plan only cancels a move that waits.',
      true,
    ),
    idempotencyKey: optional(
      CallIdempotencyKey,
      `Makes a retry safe: ${IDEMPOTENCY_WORDS}. A repeated call with the same key changes nothing, even if the plan has changed since. Use, for example, the id of the event of your payment provider.`,
      'evt_1Nabc',
    ),
  }),
  response: strict({
    identityId: optional(IdentityId, 'The customer. Absent when the call named a key.'),
    keyId: optional(KeyId, 'The key. Absent when the call named a customer.'),
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
