import { defineRoute } from './route.ts';
import { field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ReservationId } from '../shapes/schema/commonFields.ts';
import { EndedReservation, toEndedReservation } from '../shapes/counters/reservationObject.ts';
import { Count, Flag, strict } from '../../model/schema/schemas.ts';

export const settleReservation = defineRoute({
  path: '/v1/reservations.settle',
  method: 'POST',
  summary: 'Charge what a call has cost, and return the rest of its reservation.',
  description:
    'Settling again with the same cost gives the same answer and charges nothing. A reservation that was settled with another cost, was released or has expired answers 409.',
  rights: ['api.<apiId>.verify_key'],
  request: strict({
    reservationId: ReservationId,
    cost: field(Count, 'What the call has cost. 0 charges nothing.', 2750),
    allowOverage: optional(
      Flag,
      'true: if the cost is above the reservation, the difference is taken from the credits that are left, as far as they suffice. Otherwise the answer is 412. false when absent.',
      true,
    ),
  }),
  response: EndedReservation,
  example: {
    request: { reservationId: EXAMPLE.reservationId, cost: 2750 },
    response: { charged: 2750, returned: 1250, remaining: 96250 },
  },
  errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
  isUse: true,
  async handle(engine, actor, { reservationId, cost, allowOverage = false }) {
    return toEndedReservation(await engine.reservations.settle(actor, reservationId, cost, allowOverage));
  },
});
