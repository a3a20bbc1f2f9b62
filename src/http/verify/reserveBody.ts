import { Compile } from 'typebox/compile';
import { type Static, Type } from 'typebox';

import { MAX_RESERVATION_MS, MIN_RESERVATION_MS } from '../../core/bounds.ts';
import { explain } from '../request/explain.ts';
import { parseJson } from '../request/json.ts';
import { component, field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { badFields } from '../shapes/keys/keyFields.ts';
import { OnExpiryName } from '../shapes/counters/reservationObject.ts';
import { Positive, strict } from '../../model/schema/schemas.ts';
import { ASKED_FIELDS, COUNTED_FIELDS } from './verifyBody.ts';

export const ReserveBody = component(
  'ReserveRequest',
  strict({
    ...ASKED_FIELDS,
    // Not 0: a reservation that holds nothing could be charged for nothing.
    cost: field(Positive, 'The credits to hold, from 1 on: the most that you expect the call to cost.', 4000),
    ttlMs: optional(
      Type.Integer({ minimum: MIN_RESERVATION_MS, maximum: MAX_RESERVATION_MS }),
      'How long the credits are held, in milliseconds from 1000 to 86400000 (24 hours). 600000 (10 minutes) when absent.',
      600000,
    ),
    onExpiry: optional(
      OnExpiryName,
      'What becomes of the credits when the reservation is neither settled nor released in time. `release` when absent.',
    ),
    ...COUNTED_FIELDS,
  }),
  'A reservation: a verification, with the credits that it holds.',
  { key: EXAMPLE.secret, cost: 4000 },
);

export type ReserveBody = Static<typeof ReserveBody>;

const compiled = Compile(ReserveBody);

export function parseReserveBody(text: string): ReserveBody {
  const body = parseJson(text);
  if (compiled.Check(body)) return body;
  throw badFields(explain(ReserveBody, body));
}
