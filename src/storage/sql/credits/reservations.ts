import type { Reservation, ReservationState } from '../../../core/reservation.ts';
import type { ReservationQuery, Reservations } from '../../port/reservations.ts';
import { RESERVATION_COLUMNS, type ReservationRow, toReservation } from './reservationRows.ts';
import type { Params, SqlReader, SqlWriter } from '../query/statement.ts';

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

  /** By the index reservations_due, or those of the held ones of a key or identity. */
  listExpired(untilMs: number, owner: string | null, limit: number): Promise<readonly Reservation[]> {
    const params: Params = [untilMs];
    const ofOwner = owner === null ? '' : `AND ${ownerColumn(owner)} = $${params.push(owner)}`;
    return this.#find(
      `${SELECT} WHERE state = 'held' AND expires_at_ms <= $1 ${ofOwner} ORDER BY expires_at_ms LIMIT $${params.push(limit)}`,
      params,
    );
  }

  async nextExpiryOf(owner: string): Promise<number> {
    const sql = `SELECT min(expires_at_ms) AS next FROM reservations WHERE state = 'held' AND ${ownerColumn(owner)} = $1`;
    const [row] = await this.#reader.find<{ next: number | null }>({ sql, params: [owner] });
    return row?.next ?? 0;
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

/** As `asSeen` sees the state. */
function stateCondition(state: ReservationState, nowMs: number, params: Params): string {
  if (state === 'held') return `state = 'held' AND expires_at_ms > $${params.push(nowMs)}`;
  if (state !== 'expired') return `state = $${params.push(state)}`;
  return `(state = 'expired' OR (state = 'held' AND expires_at_ms <= $${params.push(nowMs)}))`;
}

function ownerColumn(owner: string): string {
  return owner.startsWith('key_') ? 'key_id' : 'identity_id';
}
