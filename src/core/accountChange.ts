import { AccountBook, type Booked, METERED_ZERO } from './accountBook.ts';
import { MAX_COUNT } from './bounds.ts';
import type { Pockets } from './expiringCredits.ts';
import type { StatementLine } from './statement.ts';
import { type AccountState, type RefillSchedule, isOfAnotherEpoch, isOfAnotherMark } from './account.ts';

/** A management change of one account. It goes through the same queue and the same commit as the change of its record. */
export interface AccountChange {
  readonly account: number;
  /** The revision that the change was made from. Any other one makes the change stale. Ignored when the change opens the account. */
  readonly expect: number;
  /** Opens the account, which must not exist yet. */
  readonly open?: 'credits' | 'window';
  /** With `open` or `close` of credits: they are counted without a balance. Such an account begins at METERED_ZERO. */
  readonly metered?: true;
  /** Removes the account. */
  readonly close?: true;
  /** Of credits: the key or identity that they belong to. Its statement keeps the lines of a closed account. */
  readonly owner?: string;
  /** With `close`: closes a window only if it ends by this instant, so that a window that runs again keeps its count. */
  readonly endedByMs?: number;
  /** The refill rule in force until now. Its passed boundaries are applied before the change. */
  readonly refill: RefillSchedule | null;
  /** The change happens at this instant, which has passed. Absent: now. */
  readonly atMs?: number;
  readonly set?: number;
  /** Of credits: sets the credits that refills raise, and leaves granted ones. */
  readonly setOwn?: number;
  /** Of credits: sets all of them. Granted ones are lost. */
  readonly reset?: number;
  /** Added to the value; a negative number is subtracted. The result stays within 0 and 2^53-1. */
  readonly add?: number;
  /** Credits to grant. Those with `expiresAtMs` are spent before all others, those without it after all others. */
  readonly grant?: { readonly id: string; readonly amount: number; readonly expiresAtMs: number | null };
  /** The end of a new window, or the beginning of the running epoch of a new refill rule. That rule refills at its next boundary. */
  readonly mark?: number;
  /** When the sweep next looks at the account because of a refill. 0 = never (no refill rule). */
  readonly dueAtMs?: number;
  /** The key is deleted: the sweep looks at the account only for its reservations and grants. */
  readonly sleeps?: true;
  /** When the next reservation of the account expires; 0 = there is none. `newest`: the newest one when they were read. */
  readonly heldUntil?: { readonly atMs: number; readonly newest: string | undefined };
  /** The change is stale when the balance, with all that was due, is higher than this. */
  readonly atMost?: number;
  readonly revision: number;
}

/** An account after a change; null = it is closed. */
export interface ChangedAccount {
  readonly state: AccountState | null;
  /** Its value before the change, with all that was due; null = it is opened. */
  readonly valueBefore: number | null;
  readonly pockets: Pockets | null;
  readonly lines: readonly StatementLine[];
}

/**
 * Why a change does not fit an account:
 *   - stale: it was made from an older record, or for another refill epoch,
 *   - otherMark: its refill begins at another mark than the account has,
 *   - settleFirst: a reservation that has expired must be ended first. Only `settle` (engine/dueCredits.ts) does that, in the order in which
 *     things happened.
 */
export type Misfit = 'stale' | 'otherMark' | 'settleFirst';

/** The account after the change, or why it does not fit. */
export function changed(
  state: AccountState | undefined,
  pockets: Pockets | null,
  change: AccountChange,
  nowMs: number,
): ChangedAccount | Misfit {
  const atMs = change.atMs ?? nowMs;
  if (atMs > nowMs) return 'stale';
  if ((state === undefined) !== (change.open !== undefined)) return 'stale';
  if (state !== undefined && state.revision !== change.expect) return 'stale';
  if (change.close && (state?.mark ?? 0) > (change.endedByMs ?? Infinity)) return 'stale';
  if (!change.close && isOfAnotherEpoch(change.refill, atMs)) return 'stale';
  if (!change.close && state !== undefined && isOfAnotherMark(change.refill, state)) return 'otherMark';
  const kind = state?.kind ?? change.open ?? 'credits';
  if (kind === 'window') return changedWindow(state, change);
  return changedCredits(state, pockets, change, atMs);
}

function changedCredits(
  state: AccountState | undefined,
  pockets: Pockets | null,
  change: AccountChange,
  nowMs: number,
): ChangedAccount | Misfit {
  const first = change.metered ? METERED_ZERO : 0;
  const book = state === undefined ? AccountBook.open(nowMs, change.mark ?? 0, first) : new AccountBook(state, pockets);
  if (change.heldUntil !== undefined) {
    if (pockets?.newest !== change.heldUntil.newest) return 'stale';
    book.heldUntil(change.heldUntil.atMs);
  }
  // What expires at the very instant of an earlier change comes after it (engine/dueCredits.ts).
  if (book.holdsExpired(change.atMs === undefined ? nowMs : nowMs - 1)) return 'settleFirst';
  // An account that is opened has no boundaries behind it.
  book.upTo(change.close || state === undefined ? null : change.refill, nowMs);
  const valueBefore = state === undefined || change.metered ? null : book.value;
  if (book.value > (change.atMost ?? Infinity)) return 'stale';
  if (change.close) return { state: null, valueBefore, pockets: null, lines: book.close(change.metered === true) };
  if (change.set !== undefined) book.set(change.set);
  if (change.setOwn !== undefined) book.setOwn(change.setOwn);
  if (change.reset !== undefined) book.set(0).set(change.reset);
  if (change.add !== undefined) book.adjust(change.add);
  if (change.grant !== undefined) book.grant(change.grant.id, change.grant.amount, change.grant.expiresAtMs);
  // An account that is opened begins with its mark.
  const mark = state === undefined ? undefined : change.mark;
  const booked: Booked = book.reschedule(mark, change.sleeps ? 0 : change.dueAtMs, nowMs).booked(change.revision);
  return { ...booked, valueBefore };
}

function changedWindow(state: AccountState | undefined, change: AccountChange): ChangedAccount {
  const valueBefore = state?.value ?? null;
  if (change.close) return { state: null, valueBefore, pockets: null, lines: [] };
  const value = Math.min(MAX_COUNT, Math.max(0, (change.set ?? state?.value ?? 0) + (change.add ?? 0)));
  const { mark = state?.mark ?? 0, dueAtMs = state?.dueAtMs ?? 0, revision } = change;
  const after: AccountState = { kind: 'window', value, mark, dueAtMs, revision, base: 0, segmentMs: 0 };
  return { state: after, valueBefore, pockets: null, lines: [] };
}
