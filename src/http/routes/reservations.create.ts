import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { readBody } from '../request/body.ts';
import { component, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ReservationId } from '../shapes/schema/commonFields.ts';
import { strict, Whole } from '../../model/schema/schemas.ts';
import { VERDICT_EXAMPLE, VERDICT_FIELDS } from '../shapes/keys/verdictSchema.ts';
import type { Peer, Service } from '../service.ts';
import { ReserveBody, toReserveRequest } from '../verify/verifyRequest.ts';
import { type GeneralVerdictWriter, VERDICT_HEADERS, verdictResponse } from '../verify/verdictAnswer.ts';
import { verify } from '../verify/verify.ts';

const RESERVED_EXAMPLE = {
  ...VERDICT_EXAMPLE,
  remaining: 95000,
  reservationId: EXAMPLE.reservationId,
  expiresAt: EXAMPLE.midnight + 600_000,
} as const;

/** Describes this route for the documentation. It is not in the table of routes: who may verify may call it. */
export const createReservation = {
  path: '/v1/reservations.create',
  method: 'POST',
  summary: 'Verify a key, and hold the credits that the call may cost.',
  description:
    'A reservation is checked, counted and answered like a verification. With the code VALID, it holds `cost` credits until `reservations.settle` charges the real cost, or `reservations.release` returns them. With any other code, nothing is held. For a key without credits, the reservation holds nothing. No root key is needed, unless KEYSTILE_VERIFY_AUTH is `required`: then the root key needs the right `api.<apiId>.verify_key`. Settling and releasing always need it.',
  command: { refuses: 'valid' },
  request: ReserveBody,
  response: component(
    'ReservedVerdict',
    strict({
      ...VERDICT_FIELDS,
      reservationId: optional(ReservationId, 'The id of the reservation. Absent when the code is not VALID.'),
      expiresAt: optional(
        Whole,
        'When the reservation expires, in unix milliseconds. Absent when the code is not VALID.',
        RESERVED_EXAMPLE.expiresAt,
      ),
    }),
    'The verdict on a key, with the reservation. `remaining` does not include what is held.',
    RESERVED_EXAMPLE,
  ),
  headers: VERDICT_HEADERS,
  example: { request: { key: EXAMPLE.secret, cost: 4000 }, response: RESERVED_EXAMPLE },
} as const;

export async function answerCreateReservation(
  service: Service,
  verdicts: GeneralVerdictWriter,
  request: Request,
  peer: Peer,
): Promise<Response> {
  const asking = { headers: request.headers, peer };
  const verdict = await verify(service, asking, () => readBody(request, MAX_VERIFY_BODY_BYTES), toReserveRequest);
  const text = verdicts.text(verdict);
  const { reservation } = verdict;
  if (reservation === undefined) return verdictResponse(verdicts, verdict, text, request);
  const { id, expiresAtMs } = reservation;
  const reserved = `${text.slice(0, -1)},"reservationId":"${id}","expiresAt":${expiresAtMs}}`;
  return verdictResponse(verdicts, verdict, reserved, request);
}
