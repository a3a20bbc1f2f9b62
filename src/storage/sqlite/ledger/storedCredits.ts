import type { Database } from 'bun:sqlite';

import { MAX_LIVE_RESERVATIONS } from '../../../core/bounds.ts';
import type { Pockets } from '../../../core/pockets.ts';
import type { Reservation } from '../../../core/reservation.ts';
import type { StoredCredits } from '../../port/batchCredits.ts';
import { RESERVATION_COLUMNS, type ReservationRow, toReservation } from '../../sql/credits/reservationRows.ts';

/** What is durable of credits beside their accounts. Each commit writes it, so a read here sees all commits. */
export class SqliteStoredCredits implements StoredCredits {
  readonly #pockets;
  readonly #reservation;
  readonly #byIdempotency;
  readonly #live;

  constructor(db: Database) {
    const select = `SELECT ${RESERVATION_COLUMNS} FROM reservations`;
    this.#pockets = db.query<{ state: string }, [number]>('SELECT state FROM pockets WHERE account = ?');
    this.#reservation = db.query<ReservationRow, [string]>(`${select} WHERE id = ?`);
    this.#byIdempotency = db.query<ReservationRow, [string, string]>(
      `${select} WHERE key_id = ? AND idempotency_id = ?`,
    );
    this.#live = db.query<{ live: number }, [string]>(
      `SELECT count(*) AS live FROM (SELECT 1 FROM reservations WHERE key_id = ? AND state = 'held' LIMIT ${MAX_LIVE_RESERVATIONS})`,
    );
  }

  pockets(account: number): Pockets | null {
    const row = this.#pockets.get(account);
    return row === null ? null : (JSON.parse(row.state) as Pockets);
  }

  reservation(id: string): Reservation | undefined {
    const row = this.#reservation.get(id);
    return row === null ? undefined : toReservation(row);
  }

  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined {
    const row = this.#byIdempotency.get(keyId, idempotencyId);
    return row === null ? undefined : toReservation(row);
  }

  liveReservations(keyId: string): number {
    return this.#live.get(keyId)?.live ?? 0;
  }
}
