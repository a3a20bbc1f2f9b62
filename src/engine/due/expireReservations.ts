import type { Reservation } from '../../core/reservation.ts';
import type { NewEvent } from '../../storage/port/events.ts';
import type { Storage } from '../../storage/port/storage.ts';
import type { EventMaker } from '../admin/change/eventMaker.ts';

/** Reservations of one step. */
const STEP = 100;
/** Steps of a run. Those that cannot be ended would be found again and again. */
const MAX_STEPS = 1_000;

/** The refills of the accounts that reservations hold credits of. */
export interface DueRefills {
  /** The instant of a refill that is due and not applied yet; null = there is none. */
  boundaryOf(owner: string): Promise<number | null>;
  applyRefill(owner: string): Promise<void>;
}

/** Ends the reservations that nobody has ended in time. */
export class ExpireReservations {
  readonly #storage: Storage;
  readonly #events: EventMaker;
  readonly #refills: DueRefills;
  #isStopped = false;

  constructor(storage: Storage, events: EventMaker, refills: DueRefills) {
    this.#storage = storage;
    this.#events = events;
    this.#refills = refills;
  }

  /** Goes once over all that have expired. */
  async run(): Promise<void> {
    this.#isStopped = false;
    await this.#endExpired(null);
  }

  /** Ends those of one key or identity, before something else happens to its credits. */
  ofOwner(owner: string): Promise<void> {
    return this.#endExpired(owner);
  }

  /** Ends a run after its present step. */
  stop(): void {
    this.#isStopped = true;
  }

  async #endExpired(owner: string | null): Promise<void> {
    const { ledger, reservations } = this.#storage;
    const untilMs = ledger.nowMs();
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      if (owner === null && this.#isStopped) return;
      const expired = await reservations.listExpired(untilMs, owner, STEP);
      await this.#endInOrder(expired);
      if (expired.length < STEP) return;
    }
  }

  /** Reservations that expired before a refill are charged before it. Those that expired after it are charged after it. */
  async #endInOrder(expired: readonly Reservation[]): Promise<void> {
    const charging = expired.filter(({ onExpiry }) => onExpiry === 'charge');
    const owners = new Set(
      charging.flatMap(({ keyId, identityId }) => [keyId, ...(identityId === null ? [] : [identityId])]),
    );
    const boundaries = new Map<string, number>();
    for (const owner of owners) {
      const boundaryMs = await this.#refills.boundaryOf(owner);
      if (boundaryMs !== null) boundaries.set(owner, boundaryMs);
    }
    const isLate = ({ onExpiry, keyId, identityId, expiresAtMs }: Reservation): boolean =>
      onExpiry === 'charge' &&
      [keyId, identityId ?? ''].some((owner) => expiresAtMs > (boundaries.get(owner) ?? Infinity));
    await this.#endTogether(expired.filter((each) => !isLate(each)));
    const late = expired.filter(isLate);
    if (late.length > 0) for (const owner of boundaries.keys()) await this.#refills.applyRefill(owner);
    await this.#endTogether(late);
  }

  /** One reservation that cannot be ended does not stop the others. */
  async #endTogether(expired: readonly Reservation[]): Promise<void> {
    if (expired.length === 0) return;
    const { ledger } = this.#storage;
    const ending = expired.map((reservation) => ({ reservation, event: this.#eventOf(reservation) }));
    try {
      await ledger.expireReservations(ending);
    } catch (error) {
      if (ending.length === 1) throw error;
      const each = await Promise.allSettled(ending.map((one) => ledger.expireReservations([one])));
      if (each.every(({ status }) => status === 'rejected')) throw error;
    }
  }

  /** No event tells of a reservation that held nothing. */
  #eventOf(reservation: Reservation): NewEvent | null {
    if (reservation.parts.length === 0) return null;
    const { id: reservationId, keyId, identityId, cost, onExpiry, expiresAtMs } = reservation;
    const ids = { reservationId, keyId, ...(identityId === null ? {} : { identityId }) };
    const hasCredits = reservation.parts.some(({ taken }) => taken !== null);
    const charged = onExpiry === 'charge' && hasCredits ? cost : 0;
    return this.#events.make('reservation.expired', ids, { cost, onExpiry, charged, expiresAt: expiresAtMs });
  }
}
