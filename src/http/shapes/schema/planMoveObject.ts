import { Type } from 'typebox';
import { type OnPlan, PLAN_BALANCES } from '../../../core/records.ts';
import { component, field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { orNull, strict, Text, Whole } from '../../../model/schema/schemas.ts';

const PlanMoveObject = component(
  'PlanMove',
  strict({
    planId: field(
      orNull(Text),
      'The plan that the customer or key moves to. null: it leaves its plan.',
      EXAMPLE.planId,
    ),
    at: field(Whole, 'When it moves, in unix milliseconds: at the next refill.', EXAMPLE.nextMidnight),
    balance: field(
      Type.Enum(PLAN_BALANCES),
      'What becomes of the credits, as the call of `plans.assign` said.',
      'keep',
    ),
  }),
  'A move to another plan that waits for the next refill.',
  { planId: EXAMPLE.planId, at: EXAMPLE.nextMidnight, balance: 'keep' },
);

/** What a holder shows of its plan everywhere. */
export const SHOWN_PLAN_FIELDS = {
  planId: optional(
    Text,
    'The plan of the customer, or of a key without a customer. Absent when there is none.',
    EXAMPLE.planId,
  ),
  planMove: optional(
    PlanMoveObject,
    'A move to another plan that waits for the next refill. Absent when there is none.',
  ),
};

export function toPlanFields({ planId, planMove }: OnPlan): object {
  const move = planMove && { planId: planMove.planId, at: planMove.atMs, balance: planMove.balance };
  return { ...(planId === null ? {} : { planId }), ...(move === null ? {} : { planMove: move }) };
}
