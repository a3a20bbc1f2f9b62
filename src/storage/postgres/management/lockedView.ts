import type { AccountState } from '../../../core/account.ts';
import type { Fence } from '../../../core/fence.ts';
import type { Pockets } from '../../../core/pockets.ts';
import type { Reservation, ReservationView } from '../../../core/reservation.ts';
import type { IdempotencyKey, RememberedAnswer } from '../../../core/spend.ts';
import type { StatementLine } from '../../../core/statement.ts';
import type { BatchCredits } from '../../port/batchCredits.ts';

export interface LockedAccounts {
  readonly nowMs: number;
  readonly states: Map<number, AccountState>;
}

/** The locked accounts, with what was decided of them. */
export class LockedView implements ReservationView {
  readonly nowMs: number;
  readonly credits: BatchCredits;
  readonly changed = new Map<number, AccountState>();
  readonly #states: Map<number, AccountState>;
  readonly #broken: ReadonlySet<Fence | undefined>;

  constructor({ nowMs, states }: LockedAccounts, credits: BatchCredits, broken: ReadonlySet<Fence | undefined>) {
    this.nowMs = nowMs;
    this.credits = credits;
    this.#states = states;
    this.#broken = broken;
  }

  readonly lastChange = 0;

  holds(fence: Fence): boolean {
    return !this.#broken.has(fence);
  }

  account(id: number): AccountState | undefined {
    return this.changed.get(id) ?? this.#states.get(id);
  }

  put(id: number, state: AccountState): void {
    this.changed.set(id, state);
  }

  pockets(id: number): Pockets | null {
    return this.credits.pockets(id);
  }

  putPockets(id: number, pockets: Pockets | null): void {
    this.credits.putPockets(id, pockets);
  }

  addLines(id: number, lines: readonly StatementLine[]): void {
    this.credits.addLines(id, lines);
  }

  reservation(id: string): Reservation | undefined {
    return this.credits.reservation(id);
  }

  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined {
    return this.credits.reservationUnder(keyId, idempotencyId);
  }

  liveReservations(keyId: string): number {
    return this.credits.liveReservations(keyId);
  }

  putReservation(reservation: Reservation): void {
    this.credits.putReservation(reservation);
  }

  /** A reservation has its own idempotency keys. */
  rememberedAnswer(_key: IdempotencyKey): RememberedAnswer | undefined {
    return undefined;
  }

  liveIdempotencyKeys(): number {
    return 0;
  }

  remember(): void {}
}
