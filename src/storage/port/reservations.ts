import type { Reservation, ReservationState } from '../../core/reservation.ts';

export interface ReservationQuery {
  readonly keyId: string;
  /** null = all. One whose time is over at `nowMs` has expired. */
  readonly state: ReservationState | null;
  readonly nowMs: number;
  /** Only those after this id. Ids are in the order of their creation. */
  readonly after: string | null;
  readonly limit: number;
}

/** Reads reservations. The ledger begins and ends them. */
export interface Reservations {
  find(id: string): Promise<Reservation | null>;
  list(query: ReservationQuery): Promise<readonly Reservation[]>;
  /** Those that are held and have expired, soonest first, after one of them. */
  listExpired(untilMs: number, after: Reservation | null, limit: number): Promise<readonly Reservation[]>;
  /** Those of a key or identity that are held, soonest expiry first. */
  listHeld(owner: string, limit: number): Promise<readonly Reservation[]>;
  /** Removes a bounded number that ended before then, and of those that held nothing before another time. True when none is left. */
  prune(endedBeforeMs: number, emptyBeforeMs: number): Promise<boolean>;
}
