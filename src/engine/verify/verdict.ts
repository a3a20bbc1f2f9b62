import type { VerdictCode } from '../../core/verdictCodes.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import type { AppliedLimit } from './appliedLimits.ts';

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
