import type { Counted, OnExpiry, Reservation, ReservationState } from '../../../core/reservation.ts';
import type { ChargeResult } from '../../../core/spend.ts';

export interface ReservationRow extends Record<string, unknown> {
  readonly id: string;
  readonly key_id: string;
  readonly api_id: string;
  readonly identity_id: string | null;
  readonly cost: number;
  readonly expires_at_ms: number;
  readonly on_expiry: string;
  readonly created_at_ms: number;
  readonly parts: string;
  readonly state: string;
  readonly ended_at_ms: number | null;
  readonly charged: number;
  readonly returned: number;
  readonly remaining: number | null;
  readonly settled_cost: number | null;
  readonly idempotency_id: string | null;
  readonly request_digest: string | null;
  readonly answer: string;
}

/** The last entry of the column `answer`, beside what was answered for each charge. */
interface CountedEntry {
  readonly counted: Counted;
}

export function answerText({ answer, counted }: Reservation): string {
  return JSON.stringify([...answer, { counted } satisfies CountedEntry]);
}

export const RESERVATION_COLUMNS = `id, key_id, api_id, identity_id, cost, expires_at_ms, on_expiry, created_at_ms, parts, state,
  ended_at_ms, charged, returned, remaining, settled_cost, idempotency_id, request_digest, answer`;

export function toReservation(row: ReservationRow): Reservation {
  const entries = JSON.parse(row.answer) as (ChargeResult | CountedEntry)[];
  const counted = entries.flatMap((each) => ('counted' in each ? each.counted : []));
  return {
    id: row.id,
    keyId: row.key_id,
    apiId: row.api_id,
    identityId: row.identity_id,
    cost: row.cost,
    expiresAtMs: row.expires_at_ms,
    onExpiry: row.on_expiry as OnExpiry,
    createdAtMs: row.created_at_ms,
    parts: JSON.parse(row.parts) as Reservation['parts'],
    state: row.state as ReservationState,
    endedAtMs: row.ended_at_ms,
    charged: row.charged,
    returned: row.returned,
    remaining: row.remaining,
    settledCost: row.settled_cost,
    idempotency:
      row.idempotency_id === null ? null : { id: row.idempotency_id, requestDigest: row.request_digest ?? '' },
    answer: entries.flatMap((each) => ('counted' in each ? [] : each)),
    counted: counted[0] ?? { tags: null, identityId: row.identity_id },
  };
}
