import { AppError, notFound } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import { asSeen, type Ending, type OnExpiry, type Reservation } from '../../../core/reservation.ts';
import type { ReservationQuery } from '../../../storage/port/reservations.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { requireOn } from '../change/requireRight.ts';
import { KeyReader } from '../keys/keyReader.ts';
import type { ReservationTerms } from '../../verify/request.ts';

const RIGHT = 'api.verify_key';

/** Ends and shows reservations. The verifier makes them. */
export class ReservationAdmin {
  readonly #context: AdminContext;
  readonly #reader: KeyReader;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#reader = new KeyReader(context);
  }

  /** The terms of a new reservation. */
  terms(ttlMs: number, onExpiry: OnExpiry): ReservationTerms {
    const { storage, system } = this.#context;
    return { id: makeId('rsv', storage.ledger.nowMs(), system.randomBytes(ID_RANDOM_BYTES)), ttlMs, onExpiry };
  }

  async get(actor: Actor, id: string): Promise<Reservation> {
    return asSeen(await this.#load(actor, id), this.#context.storage.ledger.nowMs());
  }

  /** Those of a key, the oldest first. */
  async list(actor: Actor, query: Omit<ReservationQuery, 'nowMs'>): Promise<readonly Reservation[]> {
    await this.#reader.find(actor, RIGHT, query.keyId);
    const { reservations, ledger } = this.#context.storage;
    const nowMs = ledger.nowMs();
    return (await reservations.list({ ...query, nowMs })).map((each) => asSeen(each, nowMs));
  }

  /** Charges what the call has cost, and returns the rest. Settling again with the same cost answers the same. */
  async settle(actor: Actor, id: string, cost: number, allowOverage: boolean): Promise<Reservation> {
    const ended = await this.#end(actor, id, { kind: 'settle', cost, allowOverage });
    if (ended.state === 'settled' && ended.settledCost === cost) return ended;
    throw hasEnded(ended, `it cannot be settled with ${cost}`);
  }

  /** Returns all. Releasing again answers the same. */
  async release(actor: Actor, id: string): Promise<Reservation> {
    const ended = await this.#end(actor, id, { kind: 'release' });
    if (ended.state === 'released') return ended;
    throw hasEnded(ended, 'it cannot be released');
  }

  /** The reservation as it has ended, by this call or before. */
  async #end(actor: Actor, id: string, ending: Ending): Promise<Reservation> {
    const { ledger } = this.#context.storage;
    const reservation = await this.#load(actor, id);
    if (reservation.state === 'held') await this.#applyDueTo(reservation);
    const outcome = await ledger.endReservation(id, ending, []);
    switch (outcome.status) {
      case 'done':
        return outcome.reservation;
      case 'not held':
        return asSeen(outcome.reservation, outcome.nowMs);
      case 'too much':
        throw tooMuch(outcome.reservation, ending);
      case 'unknown':
        throw notFound('reservation', id);
    }
  }

  /** Refills and expiries come first: they depend on what is held. */
  async #applyDueTo({ parts, keyId, identityId }: Reservation): Promise<void> {
    const { storage, settle } = this.#context;
    const { ledger } = storage;
    const accounts = parts.flatMap(({ account, taken }) => (taken === null ? [] : account));
    const nowMs = ledger.nowMs();
    const states = accounts.length === 0 ? [] : await ledger.read(accounts);
    const isDue = states.some((state) => state !== undefined && state.dueAtMs !== 0 && state.dueAtMs <= nowMs);
    if (!isDue) return;
    await settle(keyId);
    if (identityId !== null) await settle(identityId);
  }

  async #load(actor: Actor, id: string): Promise<Reservation> {
    const found = await this.#context.storage.reservations.find(id);
    requireOn(actor, RIGHT, found?.apiId ?? '', 'reservation', id);
    if (found === null) throw notFound('reservation', id);
    return found;
  }
}

function hasEnded({ id, state, settledCost, endedAtMs }: Reservation, what: string): AppError {
  const atTime = new Date(endedAtMs ?? 0).toISOString();
  const how = {
    settled: `was settled with ${settledCost}`,
    released: 'was released',
    expired: 'expired',
    held: 'is held',
  };
  return new AppError('CONFLICT', `The reservation ${id} ${how[state]} at ${atTime}; ${what}.`);
}

function tooMuch({ id, cost }: Reservation, ending: Ending): AppError {
  const wanted = ending.kind === 'settle' ? ending.cost : 0;
  const how = 'Set allowOverage to true to take the difference from the credits that are left';
  return new AppError(
    'PRECONDITION_FAILED',
    `The reservation ${id} holds ${cost} and cannot be settled with ${wanted}. ${how}.`,
  );
}
