import type { Counted, OnExpiry, Reservation, ReservationState } from '../../core/reservation.ts';
import type { ChargeResult } from '../../core/spend.ts';
import type { ReservationQuery, Reservations } from '../port/credits.ts';
import type { Params, SqlReader, SqlWriter } from './query/statement.ts';

export const RESERVATION_COLUMNS = `id, key_id, api_id, identity_id, cost, expires_at_ms, on_expiry, created_at_ms, parts, state,
  ended_at_ms, charged, returned, remaining, settled_cost, idempotency_id, request_digest, answer`;

/** Reservations that one step of pruning removes. */
const PRUNE_STEP = 1_000;
const SELECT = `SELECT ${RESERVATION_COLUMNS} FROM reservations`;

export class SqlReservations implements Reservations {
  readonly #reader: SqlReader;
  readonly #writer: SqlWriter;

  constructor(reader: SqlReader, writer: SqlWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  async find(id: string): Promise<Reservation | null> {
    return (await this.#find(`${SELECT} WHERE id = $1`, [id]))[0] ?? null;
  }

  list({ keyId, state, nowMs, after, limit }: ReservationQuery): Promise<readonly Reservation[]> {
    const params: Params = [keyId, after ?? ''];
    const ofState = state === null ? '' : `AND ${stateCondition(state, nowMs, params)}`;
    return this.#find(
      `${SELECT} WHERE key_id = $1 AND id > $2 ${ofState} ORDER BY id LIMIT $${params.push(limit)}`,
      params,
    );
  }

  /** By the index reservations_due. */
  listExpired(untilMs: number, after: Reservation | null, limit: number): Promise<readonly Reservation[]> {
    const sql = `${SELECT} WHERE state = 'held' AND expires_at_ms <= $1 AND expires_at_ms >= $2 AND (expires_at_ms > $2 OR id > $3)
      ORDER BY expires_at_ms, id LIMIT $4`;
    return this.#find(sql, [untilMs, after?.expiresAtMs ?? 0, after?.id ?? '', limit]);
  }

  /** Uses the index of the held reservations of a key or an identity. */
  listHeld(owner: string, limit: number): Promise<readonly Reservation[]> {
    const column = owner.startsWith('key_') ? 'key_id' : 'identity_id';
    return this.#find(`${SELECT} WHERE state = 'held' AND ${column} = $1 ORDER BY expires_at_ms, id LIMIT $2`, [
      owner,
      limit,
    ]);
  }

  async prune(endedBeforeMs: number, emptyBeforeMs: number): Promise<boolean> {
    const sql = `DELETE FROM reservations WHERE id IN (
      SELECT id FROM reservations WHERE state <> 'held' AND ended_at_ms < CASE WHEN parts <> '[]' THEN CAST($1 AS bigint) ELSE CAST($2 AS bigint) END
      ORDER BY ended_at_ms LIMIT ${PRUNE_STEP})`;
    const [removed = 0] =
      (await this.#writer.write([{ sql, params: [endedBeforeMs, emptyBeforeMs], expects: null }])) ?? [];
    return removed < PRUNE_STEP;
  }

  async #find(sql: string, params: Params): Promise<readonly Reservation[]> {
    return (await this.#reader.find<ReservationRow>({ sql, params })).map(toReservation);
  }
}

/** A reservation whose time is over has expired, even before that is written. */
function stateCondition(state: ReservationState, nowMs: number, params: Params): string {
  if (state === 'held') return `state = 'held' AND expires_at_ms > $${params.push(nowMs)}`;
  if (state !== 'expired') return `state = $${params.push(state)}`;
  return `(state = 'expired' OR (state = 'held' AND expires_at_ms <= $${params.push(nowMs)}))`;
}

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

/** The last entry of the column `answer`, after the answers for each charge. */
interface CountedEntry {
  readonly counted: Counted;
}

export function answerText({ answer, counted }: Reservation): string {
  return JSON.stringify([...answer, { counted } satisfies CountedEntry]);
}

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
