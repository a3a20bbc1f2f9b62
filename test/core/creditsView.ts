import type { Pockets } from '../../src/core/expiringCredits.ts';
import type { Reservation, ReservationView } from '../../src/core/reservation.ts';
import type { StatementLine } from '../../src/core/statement.ts';
import { View } from './ledgerView.ts';

/** Plain maps, with pockets and reservations. */
export class CreditsView extends View implements ReservationView {
  readonly #pockets = new Map<number, Pockets>();
  readonly reservations = new Map<string, Reservation>();
  onLines: (lines: readonly StatementLine[]) => void = () => {};

  override pockets(id?: number): Pockets | null {
    return this.#pockets.get(id ?? 0) ?? null;
  }

  override addLines(_account: number, lines: readonly StatementLine[]): void {
    this.onLines(lines);
  }

  putPockets(id: number, pockets: Pockets | null): void {
    if (pockets === null) this.#pockets.delete(id);
    else this.#pockets.set(id, pockets);
  }

  reservation(id: string): Reservation | undefined {
    return this.reservations.get(id);
  }

  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined {
    return [...this.reservations.values()].find(
      (each) => each.keyId === keyId && each.idempotency?.id === idempotencyId,
    );
  }

  liveReservations(keyId: string): number {
    return [...this.reservations.values()].filter((each) => each.keyId === keyId && each.state === 'held').length;
  }

  putReservation(reservation: Reservation): void {
    this.reservations.set(reservation.id, reservation);
  }
}
