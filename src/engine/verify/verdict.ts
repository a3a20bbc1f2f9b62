import { AppError } from '../../core/errors.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { ChargeResult, SpendOutcome } from '../../core/spend.ts';
import type { VerdictCode } from '../../core/verdictCodes.ts';
import type { Ledger } from '../../storage/port/storage.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import type { RefillPlans } from '../refill/refillPlans.ts';
import type { Counting } from './counting.ts';
import { allReports, type LimitReport } from './limitReports.ts';
import { codeOfCount } from './pipeline.ts';

/** The answer to a verification. It is a value, never an exception. */
export interface Verdict {
  readonly code: VerdictCode;
  /** null for an unknown key. */
  readonly key: KeyEntry | null;
  /** Credits after this verification; null when the key has none, or this node does not know them without asking the database. */
  readonly remaining: number | null;
  /** null when no limit was checked. */
  readonly limits: readonly LimitReport[] | null;
  /** The answer was given before under the same idempotency key. Nothing was charged again. */
  readonly replayed: boolean;
  /** When the verdict was decided; 0 for an unknown key. */
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

/** Makes verdicts from what the pipeline and the ledger decided. */
export class Verdicts {
  readonly #localLimits: LocalLimits;
  readonly #ledger: Ledger;
  readonly #refills: RefillPlans;

  constructor(localLimits: LocalLimits, ledger: Ledger, refills: RefillPlans) {
    this.#localLimits = localLimits;
    this.#ledger = ledger;
    this.#refills = refills;
  }

  /** A refusal without asking the ledger takes nothing. It shows the balance if this node knows it. */
  refuse(entry: KeyEntry, code: VerdictCode, limits: readonly LimitReport[] | null, nowMs: number): Verdict {
    const own = this.#peek(entry.credits, nowMs);
    const shared = this.#peek(entry.identity?.credits ?? null, nowMs);
    // If either balance is unknown, it could be the smaller one. Then the verdict shows none.
    const isKnown = own !== undefined && shared !== undefined;
    const remaining = !isKnown ? null : own === null || shared === null ? (own ?? shared) : Math.min(own, shared);
    return { code, key: entry, remaining, limits, replayed: false, atMs: nowMs };
  }

  /** The verdict of a ledger outcome that is not stale. */
  of(counting: Counting, outcome: SpendOutcome): Verdict {
    const { entry } = counting;
    switch (outcome.status) {
      case 'taken':
      case 'refused': {
        const replayed = outcome.status === 'taken' && outcome.replayed;
        return {
          code: codeOf(counting, outcome),
          key: entry,
          remaining: leastLeft(outcome.charges, counting.strict.length),
          limits: counting.limits.length === 0 ? null : allReports(this.#localLimits, counting, outcome),
          replayed,
          // A spend is decided at the ledger's time. A remembered answer counts at the time of this request.
          atMs: replayed ? counting.nowMs : outcome.nowMs,
        };
      }
      case 'conflict':
        throw new AppError('CONFLICT', 'This idempotency key was used with a different request. Use a new one.');
      case 'crowded':
        throw new AppError('RATE_LIMITED', 'This key has too many live idempotency keys; wait until some expire.');
      case 'failed':
        throw new AppError(
          'INTERNAL_SERVER_ERROR',
          `The counters of key ${entry.id} cannot be changed: ${outcome.reason}.`,
        );
      case 'stale':
        throw new Error('a stale outcome is decided again and has no verdict');
    }
  }

  /** The balance if this node knows it. null = there are no credits; undefined = unknown. */
  #peek(credits: HeldCredits | null, nowMs: number): number | null | undefined {
    if (credits === null) return null;
    const state = this.#ledger.peek(credits.account);
    return state === undefined ? undefined : this.#refills.balance(state, credits.refill, nowMs);
  }
}

function codeOf({ strict }: Counting, outcome: SpendOutcome): VerdictCode {
  if (outcome.status !== 'refused') return 'VALID';
  return outcome.by < strict.length ? OVER_STRICT_LIMIT : OUT_OF_CREDITS;
}

/** The smallest balance among the charges from `first` on, which are those of credits; null = there are none. */
function leastLeft(charges: readonly ChargeResult[], first: number): number | null {
  let least: number | null = null;
  for (let i = first; i < charges.length; i++) {
    const left = charges[i]?.left ?? Infinity;
    if (left < (least ?? Infinity)) least = left;
  }
  return least;
}
