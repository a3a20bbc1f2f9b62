import { Type } from 'typebox';

import type { Reservation } from '../../../core/reservation.ts';
import { component, field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { ApiId, IdentityId, KeyId, ReservationId } from '../schema/commonFields.ts';
import { strict, Whole } from '../../../model/schema/schemas.ts';

export const OnExpiryName = component(
  'OnExpiry',
  Type.Enum(['release', 'charge']),
  '`release`: the credits come back. `charge`: all that is held is charged.',
  'release',
);

export const ReservationStateName = component(
  'ReservationState',
  Type.Enum(['held', 'settled', 'released', 'expired']),
  '`held`: it can be settled or released. `settled`: its real cost was charged. `released`: all credits came back. `expired`: it was neither settled nor released in time.',
  'held',
);

const EXAMPLE_TIMES = { createdAt: EXAMPLE.midnight, expiresAt: EXAMPLE.midnight + 600_000 };

export const RESERVATION_EXAMPLE = {
  id: EXAMPLE.reservationId,
  keyId: EXAMPLE.keyId,
  apiId: EXAMPLE.apiId,
  cost: 4000,
  state: 'held' as const,
  onExpiry: 'release' as const,
  ...EXAMPLE_TIMES,
};

const Charged = field(
  Whole,
  'The credits that were charged. Fewer than `settledCost` when too few were left, or the key had no credits.',
  2750,
);
const Returned = field(
  Whole,
  'The credits that came back. Those from a grant that has expired in the meantime do not come back.',
  1250,
);

export const ReservationObject = component(
  'Reservation',
  strict({
    id: ReservationId,
    keyId: KeyId,
    apiId: ApiId,
    identityId: optional(
      IdentityId,
      'The customer whose credits are held too. Absent when none of a customer are held.',
    ),
    cost: field(Whole, 'The credits that it holds or held.', 4000),
    state: ReservationStateName,
    onExpiry: OnExpiryName,
    createdAt: field(Whole, 'When it was made, in unix milliseconds.', EXAMPLE_TIMES.createdAt),
    expiresAt: field(Whole, 'When it expires, in unix milliseconds.', EXAMPLE_TIMES.expiresAt),
    endedAt: optional(Whole, 'When it ended, in unix milliseconds. Absent while it is held.', EXAMPLE_TIMES.expiresAt),
    settledCost: optional(Whole, 'The cost that it was settled with. Absent when it was not settled.', 2750),
    charged: Type.Optional(Charged),
    returned: Type.Optional(Returned),
  }),
  'A reservation. `charged` and `returned` are absent while it is held.',
  RESERVATION_EXAMPLE,
);

export function toReservationObject(reservation: Reservation): object {
  const { id, keyId, apiId, identityId, cost, state, onExpiry, settledCost, charged, returned } = reservation;
  const { createdAtMs, expiresAtMs, endedAtMs } = reservation;
  return {
    id,
    keyId,
    apiId,
    ...(identityId === null ? {} : { identityId }),
    cost,
    state,
    onExpiry,
    createdAt: createdAtMs,
    expiresAt: expiresAtMs,
    ...(endedAtMs === null ? {} : { endedAt: endedAtMs, charged, returned }),
    ...(settledCost === null ? {} : { settledCost }),
  };
}

/** What became of the credits of a reservation that was settled or released. */
export const EndedReservation = component(
  'EndedReservation',
  strict({
    charged: Charged,
    returned: Returned,
    remaining: optional(
      Whole,
      'The credits that were left then: those of the key or of its customer, whichever are fewer. Absent when neither has credits.',
      96250,
    ),
  }),
  'What became of the credits that a reservation held.',
  { charged: 2750, returned: 1250, remaining: 96250 },
);

export function toEndedReservation({ charged, returned, remaining }: Reservation): object {
  return { charged, returned, ...(remaining === null ? {} : { remaining }) };
}
