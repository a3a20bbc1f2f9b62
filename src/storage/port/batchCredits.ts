import type { AccountState } from '../../core/account.ts';
import type { AccountChange, ChangedAccount } from '../../core/accountChange.ts';
import { MAX_LIVE_GRANTS } from '../../core/bounds.ts';
import type { Pockets } from '../../core/pockets.ts';
import type { Reservation } from '../../core/reservation.ts';
import { joinedLine, type StatementLine } from '../../core/statement.ts';
import type { AccountLine, ClosedAccount, CreditWrites } from './creditWrites.ts';

/** What is stored of credits beside their accounts. */
export interface StoredCredits {
  pockets(account: number): Pockets | null;
  reservation(id: string): Reservation | undefined;
  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined;
  liveReservations(keyId: string): number;
}

/**
 * A grant that expires would be one more than an account may have. Whoever asks for it has counted before, but others grant at the same
 * time; here the account is held.
 */
export function exceedsGrants({ grant }: AccountChange, { pockets }: ChangedAccount): boolean {
  return grant != null && grant.expiresAtMs !== null && (pockets?.grants.length ?? 0) > MAX_LIVE_GRANTS;
}

/** What a batch or a transaction has decided of credits, on top of what is stored. */
export class BatchCredits implements StoredCredits {
  readonly #stored: StoredCredits;
  readonly #lines = new Map<string, AccountLine>();
  readonly #pockets = new Map<number, Pockets | null>();
  readonly #reservations = new Map<string, Reservation>();
  /** By key and idempotency key. */
  readonly #underIdempotency = new Map<string, Reservation>();
  /** How many reservations of a key are held, of those that were asked for. */
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

  /** The balance is higher than it was. What was told of it holds no longer. */
  #rose(account: number, value: number): void {
    this.#risen.set(account, Math.max(value, this.#risen.get(account) ?? 0));
  }

  /** A reservation has ended. What it gave back is in the balances. */
  released({ parts, returned }: Reservation, valueOf: (account: number) => number): void {
    if (returned === 0) return;
    for (const { account, taken } of parts) if (taken !== null) this.#rose(account, valueOf(account));
  }

  /** What a management change of an account has brought. */
  adopt(change: AccountChange, before: AccountState | undefined, { state, pockets, lines }: ChangedAccount): void {
    if ((state ?? before)?.kind !== 'credits') return;
    if (before !== undefined || pockets !== null) this.putPockets(change.account, pockets);
    this.addLines(change.account, lines);
    // Nothing was told of an account before it is opened.
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
      // The stored number includes those that this batch has ended. Those that it has made are still held.
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
