import { defineRoute } from './route.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ReservationId } from '../shapes/schema/commonFields.ts';
import { EndedReservation, toEndedReservation } from '../shapes/counters/reservationObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const releaseReservation = defineRoute({
  path: '/v1/reservations.release',
  method: 'POST',
  summary: 'Return all that a reservation holds: the call did not happen.',
  description:
    'Strict rate limits no longer count the call, if their window still runs. Releasing again gives the same answer. A reservation that was settled or has expired answers 409.',
  rights: ['api.<apiId>.verify_key'],
  request: strict({ reservationId: ReservationId }),
  response: EndedReservation,
  example: {
    request: { reservationId: EXAMPLE.reservationId },
    response: { charged: 0, returned: 4000, remaining: 99000 },
  },
  errors: ['NOT_FOUND', 'CONFLICT'],
  isUse: true,
  async handle(engine, actor, { reservationId }) {
    return toEndedReservation(await engine.reservations.release(actor, reservationId));
  },
});
