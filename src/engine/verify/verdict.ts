import { AppError } from '../../core/errors.ts';
import type { CreditsRecord } from '../../core/records.ts';
import type { LegResult, SpendOutcome } from '../../core/spend.ts';
import type { VerdictCode } from '../../core/verdictCodes.ts';
import type { Ledger } from '../../storage/port/storage.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import type { RefillPlans } from '../refill/refillPlans.ts';
import type { AppliedLimit } from './appliedLimits.ts';
import type { Counting } from './counting.ts';
import { allReports } from './limitReports.ts';
import { codeOfCount } from './pipeline.ts';

/** A limit that ran, after this verification. */
export interface LimitReport {
  readonly limit: AppliedLimit;
  readonly remaining: number;
  readonly resetAtMs: number;
  readonly exceeded: boolean;
}

/** The answer to "may it pass?". A value, never an exception. */
export interface Verdict {
  readonly code: VerdictCode;
  /** null when there is no such key. */
  readonly key: KeyEntry | null;
  /** Credits after this verification; null when the key has none, or they are not known without asking. */
  readonly remaining: number | null;
  /** null when none ran. */
  readonly limits: readonly LimitReport[] | null;
  /** Answered before under the same idempotency key, and not charged again. */
  readonly replayed: boolean;
  /** When it was decided; 0 = of no known key. */
  readonly atMs: number;
}

export const UNKNOWN_KEY: Verdict = {
  code: 'NOT_FOUND',
  key: null,
  remaining: null,
  limits: null,
  replayed: false,
  atMs: 0,
};

const OVER_STRICT_LIMIT = codeOfCount('strict limits');
const OUT_OF_CREDITS = codeOfCount('credits');

export function valid(key: KeyEntry, limits: readonly LimitReport[] | null, atMs: number): Verdict {
  return { code: 'VALID', key, remaining: null, limits, replayed: false, atMs };
}

/** Makes verdicts of what the pipeline and the ledger have decided. */
export class Verdicts {
  readonly #localLimits: LocalLimits;
  readonly #ledger: Ledger;
  readonly #refills: RefillPlans;

  constructor(localLimits: LocalLimits, ledger: Ledger, refills: RefillPlans) {
    this.#localLimits = localLimits;
    this.#ledger = ledger;
    this.#refills = refills;
  }

  /** A refusal before the ledger is asked takes nothing. It tells the balance where that is known without asking. */
  refuse(entry: KeyEntry, code: VerdictCode, limits: readonly LimitReport[] | null, nowMs: number): Verdict {
    const own = this.#peek(entry.credits, nowMs);
    const shared = this.#peek(entry.identity?.credits ?? null, nowMs);
    // One that is not known could be the smaller one: then nothing is told.
    const isKnown = own !== undefined && shared !== undefined;
    const remaining = !isKnown ? null : own === null || shared === null ? (own ?? shared) : Math.min(own, shared);
    return { code, key: entry, remaining, limits, replayed: false, atMs: nowMs };
  }

  /** Of an outcome of the ledger that is not stale. */
  of(counting: Counting, outcome: SpendOutcome): Verdict {
    const { entry } = counting;
    switch (outcome.status) {
      case 'taken':
      case 'refused': {
        const replayed = outcome.status === 'taken' && outcome.replayed;
        return {
          code: codeOf(counting, outcome),
          key: entry,
          remaining: leastLeft(outcome.legs, counting.strict.length),
          limits: counting.limits.length === 0 ? null : allReports(this.#localLimits, counting, outcome),
          replayed,
          // The ledger decides later than it is asked. An earlier answer is given now.
          atMs: replayed ? counting.nowMs : outcome.nowMs,
        };
      }
      case 'conflict':
        throw new AppError('CONFLICT', 'This idempotency key was used with another request.');
      case 'crowded':
        throw new AppError('RATE_LIMITED', 'This key has too many live idempotency keys; wait until some have ended.');
      case 'failed':
        throw new AppError(
          'INTERNAL_SERVER_ERROR',
          `The counters of key ${entry.id} cannot be changed: ${outcome.reason}.`,
        );
      case 'stale':
        throw new Error('a stale outcome is decided again and has no verdict');
    }
  }

  /** The balance where it is known without asking; null: there is no counter, undefined: it is not known. */
  #peek(credits: CreditsRecord | null, nowMs: number): number | null | undefined {
    if (credits === null) return null;
    const state = this.#ledger.peek(credits.account);
    return state === undefined ? undefined : this.#refills.balance(state, credits.refill, nowMs);
  }
}

function codeOf({ strict }: Counting, outcome: SpendOutcome): VerdictCode {
  if (outcome.status !== 'refused') return 'VALID';
  return outcome.by < strict.length ? OVER_STRICT_LIMIT : OUT_OF_CREDITS;
}

/** What is left of the credits, whose legs come after those of the limits; null where there are none. */
function leastLeft(legs: readonly LegResult[], first: number): number | null {
  let least: number | null = null;
  for (let i = first; i < legs.length; i++) {
    const left = legs[i]?.left ?? Infinity;
    if (left < (least ?? Infinity)) least = left;
  }
  return least;
}
