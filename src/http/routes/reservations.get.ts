import { defineRoute } from './route.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ReservationId } from '../shapes/schema/commonFields.ts';
import { RESERVATION_EXAMPLE, ReservationObject, toReservationObject } from '../shapes/counters/reservationObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const getReservation = defineRoute({
  path: '/v1/reservations.get',
  method: 'GET',
  summary: 'Read a reservation.',
  description: 'A reservation can be read for 3 days after it has ended.',
  rights: ['api.<apiId>.verify_key'],
  request: strict({ reservationId: ReservationId }),
  response: ReservationObject,
  example: { request: { reservationId: EXAMPLE.reservationId }, response: RESERVATION_EXAMPLE },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { reservationId }) {
    return toReservationObject(await engine.reservations.get(actor, reservationId));
  },
});
