import type { AccountState } from '../../core/account.ts';
import type { AccountChange, ChangedAccount } from '../../core/accountChange.ts';
import { MAX_LIVE_GRANTS } from '../../core/bounds.ts';
import type { Pockets } from '../../core/expiringCredits.ts';
import type { CreditCall, CreditsRecord } from '../../core/records.ts';
import type { Reservation, ReservationState } from '../../core/reservation.ts';
import { joinedLine, type StatementLine } from '../../core/statement.ts';

/** The stored facts about credits besides their accounts. */
export interface StoredCredits {
  pockets(account: number): Pockets | null;
  reservation(id: string): Reservation | undefined;
  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined;
  liveReservations(keyId: string): number;
}

/**
 * The account would have one expiring grant too many. The caller has counted before, but others grant at the same time; only here is the
 * account locked.
 */
export function exceedsGrants({ grant }: AccountChange, { pockets }: ChangedAccount): boolean {
  return grant != null && grant.expiresAtMs !== null && (pockets?.grants.length ?? 0) > MAX_LIVE_GRANTS;
}

/** What a batch or a transaction has decided about credits, on top of what is stored. */
export class BatchCredits implements StoredCredits {
  readonly #stored: StoredCredits;
  readonly #lines = new Map<string, AccountLine>();
  readonly #pockets = new Map<number, Pockets | null>();
  readonly #reservations = new Map<string, Reservation>();
  /** By key and idempotency key. */
  readonly #underIdempotency = new Map<string, Reservation>();
  /** How many reservations are held, for the keys that were asked for. */
  readonly #live = new Map<string, number>();
  /** Accounts whose balance has risen, and to what. */
  readonly #risen = new Map<number, number>();
  readonly #closed: ClosedAccount[] = [];

  constructor(stored: StoredCredits) {
    this.#stored = stored;
  }

  get isEmpty(): boolean {
    const written = this.#lines.size + this.#pockets.size + this.#reservations.size + this.#risen.size;
    return written === 0 && this.#closed.length === 0;
  }

  get writes(): CreditWrites {
    return {
      lines: [...this.#lines.values()],
      pockets: Array.from(this.#pockets, ([account, pockets]) => ({ account, pockets })),
      reservations: [...this.#reservations.values()],
      risen: Array.from(this.#risen, ([account, value]) => ({ account, value })),
      closed: this.#closed,
    };
  }

  pockets(account: number): Pockets | null {
    const own = this.#pockets.get(account);
    return own === undefined ? this.#stored.pockets(account) : own;
  }

  putPockets(account: number, pockets: Pockets | null): void {
    if (pockets === null && this.pockets(account) === null) return;
    this.#pockets.set(account, pockets);
  }

  /** Parts of one line are written as one. */
  addLines(account: number, lines: readonly StatementLine[]): void {
    for (const line of lines) {
      if (line.refilled > 0 || line.granted > 0 || line.adjusted > 0) this.#rose(account, line.closing - line.held);
      const name = `${account} ${line.startMs}`;
      const known = this.#lines.get(name);
      this.#lines.set(name, { account, line: known === undefined ? line : joinedLine(known.line, line) });
    }
  }

  /** The balance has risen, so what was told of it no longer holds. */
  #rose(account: number, value: number): void {
    this.#risen.set(account, Math.max(value, this.#risen.get(account) ?? 0));
  }

  /** A reservation has ended. The balances include what it gave back. */
  released({ parts, returned }: Reservation, valueOf: (account: number) => number): void {
    if (returned === 0) return;
    for (const { account, taken } of parts) if (taken !== null) this.#rose(account, valueOf(account));
  }

  /** The effect of a management change on an account. */
  adopt(change: AccountChange, before: AccountState | undefined, { state, pockets, lines }: ChangedAccount): void {
    if ((state ?? before)?.kind !== 'credits') return;
    if (before !== undefined || pockets !== null) this.putPockets(change.account, pockets);
    this.addLines(change.account, lines);
    // Nothing was told of an account before it was opened.
    if (before === undefined) this.#risen.delete(change.account);
    if (state !== null) return;
    this.#closed.push({ account: change.account, owner: change.owner ?? '', metered: change.metered === true });
  }

  reservation(id: string): Reservation | undefined {
    return this.#reservations.get(id) ?? this.#stored.reservation(id);
  }

  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined {
    const own = this.#underIdempotency.get(`${keyId} ${idempotencyId}`);
    return own ?? this.#stored.reservationUnder(keyId, idempotencyId);
  }

  liveReservations(keyId: string): number {
    const known = this.#live.get(keyId);
    if (known !== undefined) return known;
    let live = this.#stored.liveReservations(keyId);
    for (const each of this.#reservations.values()) {
      // The stored number includes reservations that this batch has ended. Those that it has made are still held.
      if (each.keyId === keyId && each.state !== 'held') live--;
    }
    this.#live.set(keyId, live);
    return live;
  }

  putReservation(reservation: Reservation): void {
    const { id, keyId, state, idempotency } = reservation;
    const live = this.#live.get(keyId);
    if (live !== undefined) this.#live.set(keyId, live + (state === 'held' ? 1 : -1));
    this.#reservations.set(id, reservation);
    if (idempotency !== null) this.#underIdempotency.set(`${keyId} ${idempotency.id}`, reservation);
  }
}

/** What a commit of the ledger writes besides its accounts. */
export interface CreditWrites {
  readonly lines: readonly AccountLine[];
  /** null = the account has none any more. */
  readonly pockets: readonly { readonly account: number; readonly pockets: Pockets | null }[];
  readonly reservations: readonly Reservation[];
  /** Accounts whose balance has risen, with the new balance. What was told of a lower balance is forgotten. */
  readonly risen: readonly { readonly account: number; readonly value: number }[];
  /** Accounts of credits that were closed. Their lines stay in the statement of their owner. */
  readonly closed: readonly ClosedAccount[];
}

export interface ClosedAccount {
  readonly account: number;
  readonly owner: string;
  readonly metered: boolean;
}

/** A line, or a part of one, of the statement of an account. */
export interface AccountLine {
  readonly account: number;
  readonly line: StatementLine;
}

export interface ReservationQuery {
  readonly keyId: string;
  /** null = all. A reservation whose time is over at `nowMs` has expired. */
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
  /** Held reservations that have expired, soonest first, after a cursor. */
  listExpired(untilMs: number, after: Reservation | null, limit: number): Promise<readonly Reservation[]>;
  /** Held reservations of a key or identity, soonest expiry first. */
  listHeld(owner: string, limit: number): Promise<readonly Reservation[]>;
  /**
   * Removes a bounded number of reservations that ended before a time, and of those without held credits that ended before another time.
   * True when none is left.
   */
  prune(endedBeforeMs: number, emptyBeforeMs: number): Promise<boolean>;
}

/** Where the lines of an account are read from. */
export interface LineSpan {
  readonly account: number;
  readonly fromMs: number;
}

/** A position among lines, which are sorted by beginning and account. */
export interface LineCursor {
  readonly account: number;
  readonly startMs: number;
}

export interface LineQuery {
  readonly spans: readonly LineSpan[];
  /** Only lines that begin before then; null = all. */
  readonly untilMs: number | null;
  readonly after: LineCursor | null;
  readonly limit: number;
}

/** A key or an identity that has credits, or had some. */
export interface Holder {
  readonly id: string;
  /** Of a key; null: it is an identity, or was deleted for good. */
  readonly apiId: string | null;
  /** Of an identity; null: it is a key, or was deleted for good. */
  readonly externalId: string | null;
  /** null = it has none at present. */
  readonly credits: CreditsRecord | null;
  readonly planId: string | null;
  /** When it moves to another plan; null = it does not. */
  readonly movesAtMs: number | null;
  /** It is deleted, so nothing refills its credits. */
  readonly isDeleted: boolean;
}

export interface HolderQuery {
  /** Only holders of this plan; null = all that have credits or had some. */
  readonly planId: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/** The statements of accounts. The ledger writes them. */
export interface Statements {
  /** Lines of these accounts, by beginning and account. */
  lines(query: LineQuery): Promise<readonly AccountLine[]>;
  /** The refill period that the last line before an instant is in. An account without such a line is left out. */
  periodsBefore(
    accounts: readonly number[],
    atMs: number,
  ): Promise<readonly { readonly account: number; readonly periodMs: number }[]>;
  /** Accounts of credits that a key or identity had before. */
  closedAccountsOf(owners: readonly string[]): Promise<readonly ClosedAccount[]>;
  /** Which of these keys and identities have or had credits, by id. */
  findHolders(ids: readonly string[]): Promise<readonly Holder[]>;
  /** By id, also those that were deleted for good. */
  listHolders(query: HolderQuery): Promise<readonly Holder[]>;
  /** The call of a key or identity under this idempotency key; null = none. */
  findCreditCall(owner: string, idempotencyId: string): Promise<CreditCall | null>;
  /** Removes a bounded number of lines, and of calls, that began before then. True when none is left. */
  prune(beganBeforeMs: number, calledBeforeMs: number): Promise<boolean>;
}
