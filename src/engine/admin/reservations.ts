import { AppError, notFound } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { heldRefill } from '../../core/plan.ts';
import type { AccountEpoch, OnExpiry, Reservation, UserEnding } from '../../core/reservation.ts';
import { type Actor, requireOn } from './change/requireRight.ts';
import type { AdminContext } from './change/adminContext.ts';
import { KeyReader } from './readKeys.ts';
import type { ChargeCounts } from '../analytics/openCounts.ts';
import { findHolder, planOf } from '../planOf.ts';
import type { ReservationTerms } from '../verify/request.ts';
import type { ReservationQuery } from '../../storage/port/credits.ts';

const RIGHT = 'api.verify_key';
/** How often an end is tried again after something was due to the credits first. */
const MAX_TRIES = 5;

/** Ends and shows reservations. The verifier makes them. */
export class ReservationAdmin {
  readonly #context: AdminContext;
  readonly #reader: KeyReader;
  readonly #analytics: ChargeCounts | null;

  constructor(context: AdminContext, analytics: ChargeCounts | null) {
    this.#context = context;
    this.#analytics = analytics;
    this.#reader = new KeyReader(context);
  }

  /** The terms of a new reservation. */
  terms(ttlMs: number, onExpiry: OnExpiry): ReservationTerms {
    const { storage, system } = this.#context;
    return { id: makeId('rsv', storage.ledger.nowMs(), system.randomBytes(ID_RANDOM_BYTES)), ttlMs, onExpiry };
  }

  /** One whose time is over has ended: what is due to its credits is applied before it is shown. */
  async get(actor: Actor, id: string): Promise<Reservation> {
    const { reservations } = this.#context.storage;
    const found = await reservations.find(id);
    requireOn(actor, RIGHT, found?.apiId ?? '', 'reservation', id);
    if (found === null) throw notFound('reservation', id);
    if (!this.#isOver(found)) return found;
    await this.#settle([found]);
    return this.#asEnded((await reservations.find(id)) ?? found);
  }

  /** Those of a key, the oldest first. */
  async list(actor: Actor, query: Omit<ReservationQuery, 'nowMs'>): Promise<readonly Reservation[]> {
    await this.#reader.find(actor, RIGHT, query.keyId);
    const { reservations, ledger } = this.#context.storage;
    const list = () => reservations.list({ ...query, nowMs: ledger.nowMs() });
    const found = await list();
    const over = found.filter((each) => this.#isOver(each));
    if (over.length === 0) return found;
    await this.#settle(over);
    return (await list()).map((each) => this.#asEnded(each));
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
  async #end(actor: Actor, id: string, ending: UserEnding): Promise<Reservation> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const reservation = await this.get(actor, id);
      if (reservation.state !== 'held') return reservation;
      const epochs = await this.#epochsOf(reservation);
      const outcome = await this.#context.storage.ledger.endReservation(id, { ...ending, epochs });
      if (outcome.status === 'done') {
        this.#analytics?.countCharged(outcome.reservation);
        return outcome.reservation;
      }
      if (outcome.status === 'too much') throw tooMuch(outcome.reservation, ending);
      // Refills and expiries come first: they depend on what is held.
      if (outcome.status === 'settleFirst') await this.#settle([reservation]);
    }
    throw new AppError(
      'UNAVAILABLE',
      `The credits of the reservation ${id} keep changing; it is still held. Try again.`,
    );
  }

  /** A plan can have got another rule, which its holders' accounts do not know of. */
  async #epochsOf({ keyId, identityId }: Reservation): Promise<readonly AccountEpoch[]> {
    const { records, ledger } = this.#context.storage;
    const ofOwner = async (owner: string): Promise<readonly AccountEpoch[]> => {
      const holder = await findHolder(records, owner);
      const credits = holder?.record.credits ?? null;
      if (holder === null || credits === null) return [];
      const rules = heldRefill(credits, await planOf(records, holder.record));
      if (rules === null) return [];
      return [{ account: credits.account, ...this.#context.refills.epoch(rules, ledger.nowMs()) }];
    };
    return (await Promise.all([keyId, identityId ?? []].flat().map(ofOwner))).flat();
  }

  async #settle(some: readonly Reservation[]): Promise<void> {
    const owners = new Set(some.flatMap(({ keyId, identityId }) => [keyId, identityId ?? []].flat()));
    for (const owner of owners) await this.#context.dueCredits.settle(owner);
  }

  #isOver({ state, expiresAtMs }: Reservation): boolean {
    return state === 'held' && this.#context.storage.ledger.nowMs() >= expiresAtMs;
  }

  /** After what is due is applied, only one that holds nothing can be left: it never did, or its accounts are gone. */
  #asEnded(reservation: Reservation): Reservation {
    if (!this.#isOver(reservation)) return reservation;
    return { ...reservation, state: 'expired', endedAtMs: reservation.expiresAtMs, charged: 0, returned: 0 };
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

function tooMuch({ id, cost }: Reservation, ending: UserEnding): AppError {
  const wanted = ending.kind === 'settle' ? ending.cost : 0;
  const how = 'Set allowOverage to true to take the difference from the credits that are left';
  return new AppError(
    'PRECONDITION_FAILED',
    `The reservation ${id} holds ${cost} and cannot be settled with ${wanted}. ${how}.`,
  );
}
