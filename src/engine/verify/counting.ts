import type { KeyEntry } from '../cache/keyEntry.ts';
import type { LocalCharge } from '../local/localWindow.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';
import type { VerifyRequest } from './request.ts';

/** A verification whose record checks have passed, and whose limits and credits are being counted. */
export interface Counting {
  readonly entry: KeyEntry;
  readonly request: VerifyRequest;
  /** How often this verification has read the key again. */
  readonly reloads: number;
  readonly nowMs: number;
  /** All limits that apply, in the order in which they are reported. */
  readonly limits: readonly AppliedLimit[];
  /** One charge for each local limit, in their order. */
  readonly local: readonly LocalCharge[];
  /** The strict ones among the limits. */
  readonly strict: readonly AppliedLimit[];
}

/** The key has credits of its own, or shares those of its identity. */
export function hasCredits({ credits, sharedCredits }: KeyEntry): boolean {
  return credits !== null || sharedCredits !== null;
}
