import type { AccountMark, AccountState } from './account.ts';
import { AccountBook } from './accountBook.ts';
import type { Pockets, Taken } from './expiringCredits.ts';
import type { RunningEpoch } from './plan.ts';
import {
  type Charge,
  type ChargeResult,
  decideSpend,
  type LedgerView,
  type Spend,
  type SpendOutcome,
} from './spend.ts';

/** What becomes of a reservation that nobody ends in time. */
export type OnExpiry = 'release' | 'charge';

export type ReservationState = 'held' | 'settled' | 'released' | 'expired';

/** What a reservation has taken from one account. */
interface HeldPart {
  readonly account: number;
  readonly amount: number;
  /** Of credits: which pockets it came from; null = a strict window. */
  readonly taken: Taken | null;
  /** Of a window: the window that counted it. */
  readonly mark: number;
  /** Of a window: it counts what the credits count, and gets back what a settlement returns. */
  readonly follows?: true;
  /** It is counted without a balance. */
  readonly isMetered: boolean;
}

/** A verification whose cost is known only afterwards. It holds the credits that it may cost. */
export interface Reservation {
  /** `rsv_...` */
  readonly id: string;
  readonly keyId: string;
  readonly apiId: string;
  /** The identity whose credits it holds too; null = none. */
  readonly identityId: string | null;
  /** What it holds. */
  readonly cost: number;
  readonly expiresAtMs: number;
  readonly onExpiry: OnExpiry;
  readonly createdAtMs: number;
  readonly parts: readonly HeldPart[];
  readonly state: ReservationState;
  /** null while it is held. */
  readonly endedAtMs: number | null;
  /** The credits that it has cost. */
  readonly charged: number;
  /** The credits that came back. Those from grants that have expired in the meantime do not. */
  readonly returned: number;
  /** The smallest balance among its accounts when it ended; null = it is held, or has none. */
  readonly remaining: number | null;
  /** The cost that it was settled with. It can exceed what was charged, when the credits did not suffice. */
  readonly settledCost: number | null;
  readonly idempotency: { readonly id: string; readonly requestDigest: string } | null;
  /** What a retry under the same idempotency key is answered. */
  readonly answer: readonly ChargeResult[];
  /** What analytics count its charge under, beside its key. */
  readonly counted: Counted;
}

export interface Counted {
  /** null = none. */
  readonly tags: readonly string[] | null;
  /** The identity of the key, also when it has no credits. */
  readonly identityId: string | null;
}

export type NewReservation = Pick<
  Reservation,
  'id' | 'keyId' | 'apiId' | 'identityId' | 'cost' | 'onExpiry' | 'idempotency' | 'counted'
> & {
  readonly ttlMs: number;
  /** The accounts that are counted without a balance. */
  readonly metered: readonly number[];
  /** The accounts of strict limits that count what the credits count. */
  readonly following: readonly number[];
  /** A local limit refuses it. An earlier reservation under the same idempotency key is still answered, but none is made. */
  readonly isOnlyFound: boolean;
};

export type ReserveOutcome = { readonly spend: SpendOutcome; readonly reservation: Reservation | null };

/** How a caller ends a reservation. */
export type UserEnding = (
  | { readonly kind: 'settle'; readonly cost: number; readonly allowOverage: boolean }
  | { readonly kind: 'release' }
) & {
  /**
   * The epochs that run under the rules in force, of those accounts that have a rule. When a plan gets
   * another rule, the accounts of its holders still know the refills of the old one.
   */
  readonly epochs?: readonly AccountEpoch[];
};

export interface AccountEpoch extends RunningEpoch {
  readonly account: number;
}

/** How a reservation ends. */
export type Ending =
  | UserEnding
  /** By `settle`, as of its expiry. All that happened to its accounts before is applied: they have these marks. */
  | { readonly kind: 'expire'; readonly marks: readonly AccountMark[] };

export type EndOutcome =
  | { readonly status: 'done'; readonly reservation: Reservation }
  | { readonly status: 'unknown' }
  /** It has ended already, or its time is over, or (expire) it is not over yet. */
  | { readonly status: 'not held'; readonly reservation: Reservation; readonly nowMs: number }
  /** Something happened to one of its accounts before, which has to be applied first. */
  | { readonly status: 'settleFirst' }
  /** The cost exceeds what it holds, and nothing more may be taken. */
  | { readonly status: 'too much'; readonly reservation: Reservation };

/** What reservations read and write besides the accounts. */
export interface ReservationView extends LedgerView {
  putPockets(account: number, pockets: Pockets | null): void;
  reservation(id: string): Reservation | undefined;
  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined;
  /** Reservations of the key that are held, up to the bound. */
  liveReservations(keyId: string): number;
  putReservation(reservation: Reservation): void;
}

/** Takes all charges of a verification, and holds those of credits, or takes nothing. */
export function decideReserve(
  view: ReservationView,
  spend: Spend,
  wanted: NewReservation,
  nowMs: number,
  maxLive: number,
): ReserveOutcome {
  // The records that decided it come first: a key that is no longer valid gets no earlier answer. Its fences name all of them.
  const check = decideSpend(view, { ...spend, charges: [], idempotency: null }, nowMs, maxLive);
  if (check.status === 'stale') return { spend: check, reservation: null };
  const { idempotency } = wanted;
  const earlier = idempotency === null ? undefined : view.reservationUnder(wanted.keyId, idempotency.id);
  if (earlier !== undefined) return replayed(earlier, idempotency?.requestDigest ?? '');
  if (wanted.isOnlyFound) return { spend: { status: 'refused', by: 0, charges: [], nowMs }, reservation: null };
  if (view.liveReservations(wanted.keyId) >= maxLive) return { spend: { status: 'tooManyLive' }, reservation: null };
  const outcome = decideSpend(view, { ...spend, idempotency: null }, nowMs, maxLive);
  if (outcome.status !== 'taken') return { spend: outcome, reservation: null };
  const { ttlMs, metered, following, isOnlyFound: _isOnlyFound, ...facts } = wanted;
  const expiresAtMs = nowMs + ttlMs;
  const reservation: Reservation = {
    ...facts,
    expiresAtMs,
    createdAtMs: nowMs,
    parts: spend.charges
      .filter(({ amount }) => amount > 0)
      .map((charge) => ({
        ...hold(view, charge, wanted.id, expiresAtMs),
        isMetered: metered.includes(charge.account),
        ...(following.includes(charge.account) ? { follows: true } : {}),
      })),
    state: 'held',
    endedAtMs: null,
    charged: 0,
    returned: 0,
    remaining: null,
    settledCost: null,
    answer: outcome.charges,
  };
  view.putReservation(reservation);
  return { spend: outcome, reservation };
}

function replayed(earlier: Reservation, requestDigest: string): ReserveOutcome {
  if (earlier.idempotency?.requestDigest !== requestDigest) return { spend: { status: 'conflict' }, reservation: null };
  const { answer: charges, createdAtMs: nowMs } = earlier;
  return { spend: { status: 'taken', charges, nowMs, replayed: true }, reservation: earlier };
}

/** What the spend has just taken is held instead. */
function hold(
  view: ReservationView,
  { account, amount }: Charge,
  id: string,
  untilMs: number,
): Omit<HeldPart, 'isMetered'> {
  const state = view.account(account) as AccountState;
  if (state.kind === 'window') return { account, amount, taken: null, mark: state.mark };
  const book = new AccountBook({ ...state, value: state.value + amount }, view.pockets(account));
  const taken = book.hold(id, amount, untilMs);
  put(view, account, book, state.revision);
  return { account, amount, taken, mark: 0 };
}

/** Ends a reservation: charges what it has cost, and returns the rest. All its accounts change together. */
export function decideEnd(view: ReservationView, id: string, ending: Ending, nowMs: number): EndOutcome {
  const reservation = view.reservation(id);
  if (reservation === undefined) return { status: 'unknown' };
  const isOver = nowMs >= reservation.expiresAtMs;
  if (reservation.state !== 'held' || isOver !== (ending.kind === 'expire')) {
    return { status: 'not held', reservation, nowMs };
  }
  const wanted = costOf(reservation, ending);
  if (ending.kind === 'settle' && wanted > reservation.cost && !ending.allowOverage) {
    return { status: 'too much', reservation };
  }
  const endedAtMs = ending.kind === 'expire' ? reservation.expiresAtMs : nowMs;
  const books = openBooks(view, reservation, endedAtMs);
  if (books.some((open) => isDueBefore(open, ending, nowMs))) return { status: 'settleFirst' };
  const held = Math.min(wanted, reservation.cost);
  const returned = books.map(({ book, part }) => book.giveBack(part.taken as Taken, held, endedAtMs));
  const more = Math.min(wanted - held, ...books.map(({ book }) => book.value));
  const charged = books.length === 0 ? 0 : held + (more > 0 ? more : 0);
  for (const { book } of books) book.spend(charged - held);
  for (const { book, part, revision } of books) put(view, part.account, book, revision);
  const isUndone = ending.kind !== 'settle' && wanted === 0;
  returnWindows(view, reservation, nowMs, ({ amount, follows }) =>
    isUndone ? amount : follows ? reservation.cost - held : 0,
  );
  const ended: Reservation = {
    ...reservation,
    state: STATE_AFTER[ending.kind],
    endedAtMs,
    charged,
    returned: books.length === 0 ? 0 : Math.min(...returned),
    remaining: leastOf(books),
    settledCost: ending.kind === 'settle' ? ending.cost : null,
  };
  view.putReservation(ended);
  return { status: 'done', reservation: ended };
}

/** null = there is no balance. */
function leastOf(books: readonly OpenBook[]): number | null {
  const balances = books.flatMap(({ book, part }) => (part.isMetered ? [] : book.value));
  return balances.length === 0 ? null : Math.min(...balances);
}

const STATE_AFTER = { settle: 'settled', release: 'released', expire: 'expired' } as const;

function costOf({ cost, onExpiry }: Reservation, ending: Ending): number {
  if (ending.kind === 'settle') return ending.cost;
  return ending.kind === 'expire' && onExpiry === 'charge' ? cost : 0;
}

interface OpenBook {
  readonly part: HeldPart;
  readonly state: AccountState;
  readonly book: AccountBook;
  readonly revision: number;
}

/** What happened to the account before is not applied yet. */
function isDueBefore({ part, state }: OpenBook, ending: Ending, nowMs: number): boolean {
  if (ending.kind !== 'expire') {
    const epoch = ending.epochs?.find(({ account }) => account === part.account);
    const isBehind = epoch !== undefined && (state.mark < epoch.startMs || nowMs >= epoch.nextMs);
    return isBehind || (state.dueAtMs !== 0 && state.dueAtMs <= nowMs);
  }
  return ending.marks.find(({ account }) => account === part.account)?.markMs !== state.mark;
}

/** The accounts of credits that are still there. What a closed one held is gone with it. */
function openBooks(view: ReservationView, { parts }: Reservation, atMs: number): OpenBook[] {
  return parts.flatMap((part) => {
    const state = view.account(part.account);
    if (part.taken === null || state === undefined) return [];
    const book = new AccountBook(state, view.pockets(part.account)).upTo(null, atMs);
    return [{ part, state, book, revision: state.revision }];
  });
}

/** A strict limit gets its count back while the same window runs: all of it when the request did not happen. */
function returnWindows(
  view: ReservationView,
  { parts }: Reservation,
  nowMs: number,
  amountOf: (part: HeldPart) => number,
): void {
  for (const part of parts) {
    const state = view.account(part.account);
    if (part.taken !== null || state === undefined || state.mark !== part.mark || nowMs >= part.mark) continue;
    const amount = amountOf(part);
    if (amount > 0) view.put(part.account, { ...state, value: Math.max(0, state.value - amount) });
  }
}

function put(view: ReservationView, account: number, book: AccountBook, revision: number): void {
  const { state, pockets, lines } = book.booked(revision);
  view.put(account, state);
  view.putPockets(account, pockets);
  if (lines.length > 0) view.addLines(account, lines);
}
