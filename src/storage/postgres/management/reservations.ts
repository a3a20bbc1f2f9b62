import type { QueryConfig } from 'pg';

import type { AccountState } from '../../../core/account.ts';
import { MAX_LIVE_RESERVATIONS } from '../../../core/bounds.ts';
import type { Fence } from '../../../core/fence.ts';
import type { Pockets } from '../../../core/expiringCredits.ts';
import {
  decideEnd,
  decideReserve,
  type Ending,
  type EndOutcome,
  type NewReservation,
  type Reservation,
  type ReservationView,
  type ReserveOutcome,
  type UserEnding,
} from '../../../core/reservation.ts';
import type { IdempotencyKey, RememberedAnswer, Spend } from '../../../core/spend.ts';
import type { StatementLine } from '../../../core/statement.ts';
import { BatchCredits } from '../../port/credits.ts';
import type { NewEvent } from '../../port/events.ts';
import { type ExpiredReservation, StorageOutcomeUnknown, StorageUnavailable } from '../../port/storage.ts';
import { isStorageError, kindOf, reasonOf } from '../connection/databaseError.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { IS_MOVED, refuseMoved, SHARE_MOVE_LOCK } from '../connection/movedFence.ts';
import { type Ask, type AskAll, pauseBeforeRetry, type Pool } from '../connection/pool.ts';
import { changeQueries } from '../freshness/freshness.ts';
import {
  accountWrites,
  creditQueries,
  pocketsQuery,
  type PocketsRow,
  readStates,
  storedPockets,
  toNumbers,
} from './accountRows.ts';
import { isBroken } from '../schema/spendFunctions.ts';
import { withCharged } from '../../sql/balances.ts';
import { holdName } from '../../sql/boundedRecords.ts';
import { FENCE_KINDS } from '../../sql/fences.ts';
import { RESERVATION_COLUMNS, type ReservationRow, toReservation } from '../../sql/reservations.ts';

/** How often a reservation is tried if it collides with another transaction. */
const MAX_TRIES = 3;
const SELECT = `SELECT ${RESERVATION_COLUMNS} FROM reservations`;

interface ReservationsContext {
  readonly pool: Pool;
  readonly clock: LedgerClock;
  readonly random: () => number;
}

/** What a transaction has locked and read. */
interface Read {
  readonly nowMs: number;
  readonly states: Map<number, AccountState>;
  readonly pockets: readonly PocketsRow[];
  readonly others: readonly (readonly Record<string, unknown>[])[];
}

/** The decision of a transaction. `view` is null if there is nothing to write. */
interface Decision<T> {
  readonly outcome: T;
  readonly view: LockedView | null;
  readonly events: readonly NewEvent[];
}

/**
 * Reservations begin and end in separate transactions, which are decided here and not inside the database. Each locks its accounts in the
 * order of their ids, as spends do, and writes them with the reservation.
 */
export class Reservations {
  readonly #context: ReservationsContext;

  constructor(context: ReservationsContext) {
    this.#context = context;
  }

  reserve(spend: Spend, wanted: NewReservation): Promise<ReserveOutcome> {
    const { idempotency, keyId } = wanted;
    const earlier = {
      text: `${SELECT} WHERE key_id = $1 AND idempotency_id = $2 FOR UPDATE`,
      values: [keyId, idempotency?.id ?? null],
    };
    const live = {
      text: `SELECT count(*) AS live FROM (
        SELECT 1 FROM reservations WHERE key_id = $1 AND state = 'held' LIMIT ${MAX_LIVE_RESERVATIONS}) held`,
      values: [keyId],
    };
    const accounts = spend.charges.map(({ account }) => account);
    // Reservations of one key wait for each other at its credits. Without credits they may share no account.
    const hasCredits = spend.charges.some(({ rule }) => rule.kind === 'credits');
    const { onPostgres = '', params } = holdName(`reservations of ${keyId}`);
    const hold = hasCredits ? [] : [{ text: onPostgres, values: params }];
    return this.#transact(accounts, [...hold, earlier, live, brokenFences(spend)], (read) => {
      const [found = [], counted = [], broken = []] = read.others.slice(hold.length);
      const stored = { found: toReservations(found), live: Number(counted[0]?.['live'] ?? 0) };
      const atFault = new Set(broken.map(({ ordinal }) => spend.fences[Number(ordinal) - 1]));
      const view = new LockedView(read, new BatchCredits(storedPockets(read.pockets, stored)), atFault);
      const outcome = decideReserve(view, spend, wanted, read.nowMs, MAX_LIVE_RESERVATIONS);
      return { outcome, view: outcome.reservation === null ? null : view, events: [] };
    });
  }

  /** `known`: the reservation as it was read before. Its list of accounts never changes. */
  end(known: Reservation, ending: UserEnding): Promise<EndOutcome> {
    return this.#transact(accountsOf([known]), [lockAgain([known])], (read) => {
      const view = endingView(read);
      const outcome = end(view, known.id, ending);
      return { outcome, view: outcome.status === 'done' ? view : null, events: [] };
    });
  }

  expire(expired: readonly ExpiredReservation[]): Promise<readonly Reservation[]> {
    const known = expired.map(({ reservation }) => reservation);
    return this.#transact(accountsOf(known), [lockAgain(known)], (read) => {
      const view = endingView(read);
      const events: NewEvent[] = [];
      const ended: Reservation[] = [];
      for (const { reservation, marks, event } of expired) {
        const outcome = end(view, reservation.id, { kind: 'expire', marks });
        if (outcome.status !== 'done') continue;
        ended.push(outcome.reservation);
        if (event !== null) events.push(withCharged(event, outcome.reservation));
      }
      return { outcome: ended, view: ended.length === 0 ? null : view, events };
    });
  }

  async #transact<T>(
    accounts: readonly number[],
    reads: readonly QueryConfig[],
    decide: (read: Read) => Decision<T>,
  ): Promise<T> {
    const { pool, random } = this.#context;
    for (let tries = 1; ; tries++) {
      try {
        return await pool.use((ask, askAll) => this.#try(ask, askAll, { accounts, reads, decide }));
      } catch (error) {
        const mayGoWell = !isStorageError(error) && ['rolled back', 'refused'].includes(kindOf(error));
        if (!mayGoWell || tries >= MAX_TRIES) {
          if (isStorageError(error)) throw error;
          throw new StorageUnavailable(`A database query failed (${reasonOf(error)}); nothing was changed.`);
        }
        await pauseBeforeRetry(tries, random);
      }
    }
  }

  async #try<T>(
    ask: Ask,
    askAll: AskAll,
    {
      accounts,
      reads,
      decide,
    }: { accounts: readonly number[]; reads: readonly QueryConfig[]; decide: (read: Read) => Decision<T> },
  ): Promise<T> {
    let isCommitting = false;
    try {
      const { outcome, view, events } = decide(await this.#read(askAll, accounts, reads));
      if (view === null) {
        // The answer shows what was read, so that must have reached the standby: the locks are writes, and their commit waits for the
        // standby.
        isCommitting = true;
        await ask('COMMIT');
        return outcome;
      }
      isCommitting = true;
      const notes = changeQueries({ writes: [], accounts: [], events }, view.nowMs);
      await askAll([
        ...accountWrites(view.changed),
        ...creditQueries(view.credits.writes),
        ...notes,
        { text: 'COMMIT' },
      ]);
      return outcome;
    } catch (error) {
      if (isCommitting && kindOf(error) === 'lost') {
        throw new StorageOutcomeUnknown(`The database did not confirm whether this was done (${reasonOf(error)}).`);
      }
      if (isStorageError(error) || kindOf(error) !== 'lost') await ask('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  async #read(askAll: AskAll, accounts: readonly number[], reads: readonly QueryConfig[]): Promise<Read> {
    const { clock } = this.#context;
    const startedAtMs = clock.startMs();
    const ids = [...new Set(accounts)];
    const lock = {
      text: `SELECT ledger_lock_v1($1::bigint[], $2::bigint)::text AS numbers, ${IS_MOVED} AS moved`,
      values: [ids, clock.givenMs],
    };
    const begin = { text: `BEGIN; ${SHARE_MOVE_LOCK}` };
    const [, locked, pockets, ...others] = await askAll([begin, lock, pocketsQuery(ids), ...reads]);
    const found = locked?.rows[0] as { numbers: string; moved: boolean } | undefined;
    refuseMoved(found?.moved);
    const [nowMs = 0, ...numbers] = toNumbers(found?.numbers ?? '{}');
    clock.keepWithin(startedAtMs, nowMs);
    return {
      nowMs,
      states: readStates(numbers),
      pockets: (pockets?.rows ?? []) as PocketsRow[],
      others: others.map(({ rows }) => rows as Record<string, unknown>[]),
    };
  }
}

function accountsOf(reservations: readonly Reservation[]): number[] {
  return reservations.flatMap(({ parts }) => parts.map(({ account }) => account));
}

/** In the order of their ids, which is the lock order of everybody. */
function lockAgain(reservations: readonly Reservation[]): QueryConfig {
  const ids = reservations.map(({ id }) => id);
  return { text: `${SELECT} WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`, values: [ids] };
}

function toReservations(rows: readonly Record<string, unknown>[]): Reservation[] {
  return rows.map((row) => toReservation(row as ReservationRow));
}

function endingView(read: Read): LockedView {
  const stored = { found: toReservations(read.others[0] ?? []), live: 0 };
  return new LockedView(read, new BatchCredits(storedPockets(read.pockets, stored)), new Set());
}

function end(view: LockedView, id: string, ending: Ending): EndOutcome {
  const outcome = decideEnd(view, id, ending, view.nowMs);
  if (outcome.status === 'done') {
    view.credits.released(outcome.reservation, (account) => view.account(account)?.value ?? 0);
  }
  return outcome;
}

/** Selects the broken fences of a spend, by their numbers in its list, beginning at 1. */
function brokenFences({ fences }: Spend): QueryConfig {
  const text = `SELECT f.ordinal FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
    WITH ORDINALITY AS f(kind, id, name, revision, ordinal) WHERE ${isBroken()}`;
  const columns = [
    fences.map(({ kind }) => FENCE_KINDS.indexOf(kind)),
    fences.map(({ id }) => id),
    fences.map(({ name }) => name),
    fences.map(({ revision }) => revision),
  ];
  return { name: 'broken_fences', text, values: columns };
}

interface LockedAccounts {
  readonly nowMs: number;
  readonly states: Map<number, AccountState>;
}

/** The locked accounts, with what was decided about them. */
class LockedView implements ReservationView {
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

  isCurrent(fence: Fence): boolean {
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
