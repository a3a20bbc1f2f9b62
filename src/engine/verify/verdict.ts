import { MAX_COUNT, MAX_LIVE_RESERVATIONS } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { holdsExpired } from '../../core/expiringCredits.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { Reservation } from '../../core/reservation.ts';
import type { ChargeResult, DecidedSpend, SpendOutcome } from '../../core/spend.ts';
import type { VerdictCode } from '../../core/verdictCodes.ts';
import type { KeyEntry } from '../cache/entries.ts';
import type { LocalLimits } from '../localLimits.ts';
import type { RefillSchedules } from '../refillSchedules.ts';
import { OWN_CREDITS, SHARED_CREDITS } from './charges.ts';
import { type Counting, hasCredits } from './effectiveLimits.ts';
import {
  allReports,
  checkOfCharge,
  creditsLeft,
  creditsOfCharge,
  ledgerChargeCount,
  type LimitReport,
} from './pipeline.ts';
import type { Ledger } from '../../storage/port/storage.ts';

/** The answer to a verification. It is a value, never an exception. */
export interface Verdict {
  readonly code: VerdictCode;
  /** null for an unknown key. */
  readonly key: KeyEntry | null;
  /** Credits after this verification; null when the key has none, or this node does not know them without asking the database. */
  readonly remaining: number | null;
  /** Credits that this verification took. Where key and identity both have credits, each paid so many. */
  readonly creditsTaken: number;
  /** null when no limit was checked. */
  readonly limits: readonly LimitReport[] | null;
  /** The answer was given before under the same idempotency key. Nothing was charged again. */
  readonly replayed: boolean;
  /** When the verdict was decided; 0 for an unknown key. */
  readonly atMs: number;
  /** When the credits that did not suffice are refilled next. Only such verdicts have the field, and only where a refill is known. */
  readonly nextRefillAtMs?: number;
  /** What was reserved. Only verdicts of reservations have the field: plain ones are many, and stay small. */
  readonly reservation?: Reservation;
  /** What the ledger decided. Only verdicts that are to be explained have it. */
  readonly ledger?: { readonly counting: Counting; readonly outcome: DecidedSpend };
  readonly explanation?: readonly ExplainedCheck[];
}

export const UNKNOWN_KEY: Verdict = {
  code: 'NOT_FOUND',
  key: null,
  remaining: null,
  creditsTaken: 0,
  limits: null,
  replayed: false,
  atMs: 0,
};

const MANY_KEYS = 'This key has too many live idempotency keys; wait until some expire.';
const MANY_RESERVATIONS = `This key has ${MAX_LIVE_RESERVATIONS} reservations that are held, as many as it may have; settle or release some, or wait until some expire.`;

export function valid(key: KeyEntry, limits: readonly LimitReport[] | null, atMs: number): Verdict {
  return { code: 'VALID', key, remaining: null, creditsTaken: 0, limits, replayed: false, atMs };
}

export function withReservation(verdict: Verdict, reservation: Reservation | null): Verdict {
  return reservation === null ? verdict : { ...verdict, reservation };
}

/** Makes verdicts from what the pipeline and the ledger decided. */
export class Verdicts {
  readonly #localLimits: LocalLimits;
  readonly #ledger: Ledger;
  readonly #refills: RefillSchedules;

  constructor(localLimits: LocalLimits, ledger: Ledger, refills: RefillSchedules) {
    this.#localLimits = localLimits;
    this.#ledger = ledger;
    this.#refills = refills;
  }

  /** A refusal without asking the ledger takes nothing. It shows the balance if this node knows it. */
  refuse(entry: KeyEntry, code: VerdictCode, limits: readonly LimitReport[] | null, nowMs: number): Verdict {
    const own = this.#peek(entry.credits, nowMs);
    const shared = this.#peek(entry.sharedCredits, nowMs);
    // If either balance is unknown, it could be the smaller one. Then the verdict shows none.
    const isKnown = own !== undefined && shared !== undefined;
    const remaining = isKnown ? smaller(own, shared) : null;
    return { code, key: entry, remaining, creditsTaken: 0, limits, replayed: false, atMs: nowMs };
  }

  /** The verdict of a ledger outcome that is not decided again. */
  of(counting: Counting, outcome: SpendOutcome): Verdict {
    const { entry } = counting;
    switch (outcome.status) {
      case 'taken':
      case 'refused': {
        const replayed = outcome.status === 'taken' && outcome.replayed;
        // The key's counters have changed since the first answer, so its numbers cannot be assigned.
        const isOfOthers = replayed && outcome.charges.length !== ledgerChargeCount(counting);
        const shown = isOfOthers ? { ...outcome, charges: [] } : outcome;
        const decided: Verdict = {
          code: outcome.status === 'refused' ? checkOfCharge(counting, outcome.by).code : 'VALID',
          key: entry,
          remaining: leastLeft(counting, shown.charges),
          creditsTaken: creditsTaken(counting, outcome),
          limits: allReports(this.#localLimits, counting, shown),
          replayed,
          // A spend is decided at the ledger's time. A remembered answer counts at the time of this request.
          atMs: replayed ? counting.nowMs : outcome.nowMs,
        };
        const verdict = outcome.status === 'refused' ? this.#withRefill(decided, counting, outcome) : decided;
        return counting.request.isExplained ? { ...verdict, ledger: { counting, outcome: shown } } : verdict;
      }
      case 'conflict':
        throw new AppError('CONFLICT', 'This idempotency key was used with a different request. Use a new one.');
      case 'tooManyLive':
        throw new AppError('RATE_LIMITED', counting.request.reservation === null ? MANY_KEYS : MANY_RESERVATIONS);
      case 'failed':
        throw new AppError(
          'INTERNAL_SERVER_ERROR',
          `The credits and limits of the key ${entry.id} cannot be changed: ${outcome.reason}.`,
        );
      case 'stale':
      case 'otherMark':
      case 'settleFirst':
        throw new Error(`a spend with the outcome ${outcome.status} is decided again and has no verdict`);
    }
  }

  /** Says when the credits that refused are refilled next. */
  #withRefill(verdict: Verdict, counting: Counting, { by, nowMs }: SpendOutcome & { status: 'refused' }): Verdict {
    const refill = creditsOfCharge(counting, by)?.refill ?? null;
    const { nextMs } = refill === null ? { nextMs: MAX_COUNT } : this.#refills.epoch(refill, nowMs);
    return nextMs === MAX_COUNT ? verdict : { ...verdict, nextRefillAtMs: nextMs };
  }

  /** The balance if this node knows it. null = there are no credits; undefined = unknown. */
  #peek(credits: HeldCredits | null, nowMs: number): number | null | undefined {
    if (credits === null || credits.metered) return null;
    const state = this.#ledger.peek(credits.account);
    const isKnown = state !== undefined && !holdsExpired(state.pockets, nowMs);
    return isKnown ? this.#refills.balance(state, credits.refill, nowMs) : undefined;
  }
}

/** A remembered answer takes nothing again. What is only reserved counts when the reservation ends. */
function creditsTaken({ entry, request }: Counting, outcome: SpendOutcome): number {
  if (outcome.status !== 'taken' || outcome.replayed || request.reservation !== null) return 0;
  return hasCredits(entry) ? request.creditCost : 0;
}

/** The smaller balance of the key and its identity; null = there is none. What is metered has none. */
function leastLeft(counting: Counting, charges: readonly ChargeResult[]): number | null {
  const own = creditsLeft(OWN_CREDITS, counting, charges);
  const shared = creditsLeft(SHARED_CREDITS, counting, charges);
  return smaller(own, shared);
}

/** null = there is none. */
function smaller(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** What one check of the pipeline found. */
export interface ExplainedCheck {
  readonly check: string;
  readonly result: 'passed' | 'refused' | 'not reached';
  readonly text: string;
  /** Only checks that count have them. */
  readonly counters?: readonly ExplainedCounter[];
}

export interface ExplainedCounter {
  /** The name of a limit, or `credits`. */
  readonly name: string;
  readonly of: 'key' | 'identity';
  /** What this verification took. */
  readonly taken: number;
  /** What is left after it; null = it is metered, and has no balance. */
  readonly remaining: number | null;
  /** When the window of a limit ends; null for credits. */
  readonly resetAtMs: number | null;
}
