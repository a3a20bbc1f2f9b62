import { MAX_PAGE_SIZE } from '../../core/bounds.ts';
import { defineRoute } from './route.ts';
import { listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { KeyId, nextCursor, pageCursor, PageLimit } from '../shapes/schema/commonFields.ts';
import {
  RESERVATION_EXAMPLE,
  ReservationObject,
  ReservationStateName,
  toReservationObject,
} from '../shapes/counters/reservationObject.ts';
import { cursorAt, strict } from '../../model/schema/schemas.ts';

export const listReservations = defineRoute({
  path: '/v1/reservations.list',
  method: 'GET',
  summary: 'List the reservations of a key, the oldest first.',
  description: 'Reservations that have ended are listed for 3 days.',
  rights: ['api.<apiId>.verify_key'],
  request: strict({
    keyId: KeyId,
    state: optional(ReservationStateName, 'Only reservations in this state.', 'held'),
    limit: PageLimit,
    cursor: pageCursor(cursorAt('rsv'), EXAMPLE.reservationId),
  }),
  response: strict({
    reservations: listOf(ReservationObject, 'The reservations of this page.'),
    cursor: nextCursor(EXAMPLE.reservationId),
  }),
  example: {
    request: { keyId: EXAMPLE.keyId, state: 'held', limit: 10 },
    response: { reservations: [RESERVATION_EXAMPLE] },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { keyId, state = null, limit = MAX_PAGE_SIZE, cursor = null }) {
    const found = await engine.reservations.list(actor, { keyId, state, after: cursor, limit: limit + 1 });
    const page = found.slice(0, limit);
    const next = found.length > limit ? { cursor: page.at(-1)?.id } : {};
    return { reservations: page.map(toReservationObject), ...next };
  },
});
