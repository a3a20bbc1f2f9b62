import {
  type AccountMark,
  type AccountState,
  type ChargeRule,
  isOfAnotherMark,
  isOfAnotherEpoch,
  left,
  rolled,
  taken,
} from './account.ts';
import { AccountBook } from './accountBook.ts';
import type { Fence } from './fence.ts';
import type { Pockets } from './expiringCredits.ts';
import { DAY_MS, type StatementLine } from './statement.ts';

/** One part of a spend: an amount of one account, under a rule, decided under a revision of the account's record. */
export interface Charge {
  readonly account: number;
  readonly amount: number;
  readonly rule: ChargeRule;
  readonly revision: number;
}

/**
 * What a ledger in the same process knows about the records that decide the spends of one key. The same records decide many spends and
 * seldom change. To find their revisions among 100,000 others takes longer than the rest of a spend.
 */
export interface RecordsCheck {
  /** The last change of any record before the ledger compared these records, as the ledger numbers changes; 0 = it never did. */
  checkedAt: number;
}

export interface IdempotencyKey {
  /** The key that is verified. Two keys may use the same idempotency key. */
  readonly scope: string;
  readonly id: string;
  /** Digest of the parsed request. The same id with another request is a conflict. */
  readonly requestDigest: string;
}

/** Charges that are checked in this order. All of them are taken, or none. */
export interface Spend {
  readonly charges: readonly Charge[];
  /** The records that decided this spend, except those whose revision a charge names. */
  readonly fences: readonly Fence[];
  /** About all records that decided this spend. Absent: the ledger notes nothing. */
  readonly lastCheck?: RecordsCheck | undefined;
  readonly idempotency: IdempotencyKey | null;
}

export interface ChargeResult {
  /** How much can still be used after this spend. */
  readonly left: number;
  /** End of the window, or the instant of the next refill (0 = none). */
  readonly resetAtMs: number;
}

export type SpendOutcome =
  | {
      readonly status: 'taken';
      readonly charges: readonly ChargeResult[];
      readonly nowMs: number;
      readonly replayed: boolean;
    }
  | {
      readonly status: 'refused';
      readonly by: number;
      readonly charges: readonly ChargeResult[];
      readonly nowMs: number;
    }
  /** Decided under an older record or another refill epoch: read the records again. `fence`: the first that is broken. */
  | { readonly status: 'stale'; readonly nowMs: number; readonly fence: Fence | null }
  /** The refill of an account begins at another mark: make its schedule from this one. */
  | { readonly status: 'otherMark'; readonly nowMs: number; readonly mark: AccountMark }
  /** A grant or a reservation has expired, or a refill depends on them: settle the credits of this account. */
  | { readonly status: 'settleFirst'; readonly nowMs: number; readonly account: number }
  /** The idempotency key was used with another request. */
  | { readonly status: 'conflict' }
  /** The key has too many live idempotency keys. */
  | { readonly status: 'tooManyLive' }
  /** This spend alone failed (its row breaks a constraint). The others of its batch were carried out. */
  | { readonly status: 'failed'; readonly reason: string };

/** The answer that a charged spend leaves under its idempotency key. */
export interface RememberedAnswer {
  readonly requestDigest: string;
  readonly charges: readonly ChargeResult[];
  readonly nowMs: number;
}

/** What `decideSpend` reads and writes: accounts and remembered answers, as the spends before this one left them. */
export interface LedgerView {
  /** The fenced record still has the revision that the fence names. */
  isCurrent(fence: Fence): boolean;
  /** The number of the last change of any record, from 1 on. 0: notes about records are not used. */
  readonly lastChange: number;
  account(id: number): AccountState | undefined;
  /** null = the account has none. Asked for only when something is due. */
  pockets(id: number): Pockets | null;
  put(id: number, state: AccountState): void;
  /** Adds lines to the statement of an account. */
  addLines(id: number, lines: readonly StatementLine[]): void;
  rememberedAnswer(key: IdempotencyKey): RememberedAnswer | undefined;
  liveIdempotencyKeys(scope: string): number;
  remember(key: IdempotencyKey, answer: RememberedAnswer): void;
}

/**
 * The reference for every ledger: decides one spend on the state that the spends before it left. A batch has the same result as
 * this function called for its spends one by one, in arrival order. The conformance suite compares every adapter with it.
 */
export function decideSpend(view: LedgerView, spend: Spend, nowMs: number, maxLiveKeys: number): SpendOutcome {
  const { lastChange } = view;
  const lastCheck = lastChange === 0 ? undefined : spend.lastCheck;
  if (lastCheck === undefined || lastCheck.checkedAt !== lastChange) {
    for (const fence of spend.fences) if (!view.isCurrent(fence)) return { status: 'stale', nowMs, fence };
  }
  const open: OpenCharge[] = [];
  for (const charge of spend.charges) {
    const stored = view.account(charge.account);
    if (stored === undefined || isStale(charge, stored, nowMs)) return { status: 'stale', nowMs, fence: null };
    if (charge.rule.kind === 'credits' && isOfAnotherMark(charge.rule.refill, stored)) {
      return { status: 'otherMark', nowMs, mark: { account: charge.account, markMs: stored.mark } };
    }
    const opened = current(view, charge, stored, nowMs);
    if (opened === 'settleFirst') return { status: 'settleFirst', nowMs, account: charge.account };
    open.push(opened);
  }
  // Every record that decided was compared: by a fence, or by the revision of a charge.
  if (lastCheck !== undefined) lastCheck.checkedAt = lastChange;
  const answered = spend.idempotency === null ? null : findAnswer(view, spend.idempotency, maxLiveKeys);
  return answered ?? takeCharges(view, spend, open, nowMs);
}

/** A charge with its account: as it is stored, and as it is now (refilled, or in the running window). */
interface OpenCharge {
  readonly charge: Charge;
  readonly stored: AccountState;
  readonly now: AccountState;
  /** What a refill or the change of day writes to its statement. */
  readonly lines: readonly StatementLine[];
}

const NO_LINES: readonly StatementLine[] = [];

/** The account at `nowMs`, before anything is taken. 'settleFirst': what is due depends on its grants or reservations. */
function current(view: LedgerView, charge: Charge, stored: AccountState, nowMs: number): OpenCharge | 'settleFirst' {
  const { account, rule } = charge;
  if (rule.kind === 'window') return { charge, stored, now: rolled(stored, rule.durationMs, nowMs), lines: NO_LINES };
  const isDue = stored.dueAtMs !== 0 && nowMs >= stored.dueAtMs;
  const refills = rule.refill !== null && stored.mark < rule.refill.startMs;
  const isUnplanned = rule.refill !== null && stored.dueAtMs === 0;
  if (!isDue && !refills && !isUnplanned && !isOfEarlierDay(stored, nowMs)) {
    return { charge, stored, now: stored, lines: NO_LINES };
  }
  const pockets = view.pockets(account);
  if (pockets !== null && (isDue || refills)) return 'settleFirst';
  const { state, lines } = new AccountBook(stored, pockets).upTo(rule.refill, nowMs).booked(stored.revision);
  if (pockets !== null) return { charge, stored, now: { ...state, dueAtMs: stored.dueAtMs }, lines };
  // Nothing that was due is left.
  return { charge, stored, now: isDue && rule.refill === null ? { ...state, dueAtMs: 0 } : state, lines };
}

/** The running line of the statement is one of an earlier day. */
function isOfEarlierDay({ segmentMs }: AccountState, nowMs: number): boolean {
  // Not a remainder, which takes many times as long as a division.
  return Math.floor(nowMs / DAY_MS) * DAY_MS > segmentMs;
}

function isStale({ rule, revision }: Charge, stored: AccountState, nowMs: number): boolean {
  if (stored.kind !== rule.kind || stored.revision !== revision) return true;
  return rule.kind === 'credits' && isOfAnotherEpoch(rule.refill, nowMs);
}

/** The remembered answer under this idempotency key, a conflict, or null when there is none. */
export function answerUnder(view: LedgerView, key: IdempotencyKey): SpendOutcome | null {
  const stored = view.rememberedAnswer(key);
  if (stored === undefined) return null;
  if (stored.requestDigest !== key.requestDigest) return { status: 'conflict' };
  return { status: 'taken', charges: stored.charges, nowMs: stored.nowMs, replayed: true };
}

function findAnswer(view: LedgerView, key: IdempotencyKey, maxLiveKeys: number): SpendOutcome | null {
  const answered = answerUnder(view, key);
  if (answered !== null) return answered;
  return view.liveIdempotencyKeys(key.scope) >= maxLiveKeys ? { status: 'tooManyLive' } : null;
}

function takeCharges(view: LedgerView, spend: Spend, open: readonly OpenCharge[], nowMs: number): SpendOutcome {
  const after: AccountState[] = [];
  let hasLines = false;
  for (let i = 0; i < open.length; i++) {
    const { charge, now, lines } = open[i] as OpenCharge;
    hasLines ||= lines !== NO_LINES;
    // An account can be in two charges of one spend. The second charge sees what the first left.
    const state = taken(i === 0 ? now : (after[lastOf(open, charge.account, i)] ?? now), charge.rule, charge.amount);
    if (state === null) {
      return { status: 'refused', by: i, charges: open.map((each) => chargeResult(each.now, each.charge)), nowMs };
    }
    after.push(state);
  }
  const charges: ChargeResult[] = [];
  for (let i = 0; i < open.length; i++) {
    const { charge, stored } = open[i] as OpenCharge;
    const state = after[i] as AccountState;
    // An amount of 0 writes nothing: the next spend computes the same refill or window again.
    if (charge.amount > 0 && state !== stored) {
      if (hasLines) addLines(view, open, charge.account);
      view.put(charge.account, state);
    }
    charges.push(chargeResult(state, charge));
  }
  if (spend.idempotency !== null && spend.charges.some((charge) => charge.amount > 0)) {
    view.remember(spend.idempotency, { requestDigest: spend.idempotency.requestDigest, charges, nowMs });
  }
  return { status: 'taken', charges, nowMs, replayed: false };
}

/** The first charge of an account decides what the account is now. Its lines are written before the account is. */
function addLines(view: LedgerView, open: readonly OpenCharge[], account: number): void {
  const first = open.find(({ charge }) => charge.account === account) as OpenCharge;
  if (view.account(account)?.segmentMs === first.stored.segmentMs) view.addLines(account, first.lines);
}

/** The index of the last charge before `end` that takes from the account; -1 = none. */
function lastOf(open: readonly OpenCharge[], account: number, end: number): number {
  return open.findLastIndex(({ charge }, i) => i < end && charge.account === account);
}

function chargeResult(state: AccountState, charge: Charge): ChargeResult {
  const resetAtMs = charge.rule.kind === 'window' ? state.mark : (charge.rule.refill?.nextMs ?? 0);
  return { left: left(state, charge.rule), resetAtMs };
}

/** An outcome in which the ledger has decided: all charges were taken, or none. */
export type DecidedSpend = SpendOutcome & { readonly status: 'taken' | 'refused' };
