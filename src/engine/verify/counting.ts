import type { KeyEntry } from '../cache/keyEntry.ts';
import type { LocalLeg } from '../local/localWindow.ts';
import type { AppliedLimit } from './appliedLimits.ts';
import type { VerifyRequest } from './request.ts';

/** A verification that is being counted. */
export interface Counting {
  readonly entry: KeyEntry;
  readonly request: VerifyRequest;
  /** How often the key was read anew for this verification. */
  readonly reloads: number;
  readonly nowMs: number;
  /** All limits that apply, in the order in which they are reported. */
  readonly limits: readonly AppliedLimit[];
  /** One leg for each local limit, in their order. */
  readonly local: readonly LocalLeg[];
  /** The strict ones among the limits. */
  readonly strict: readonly AppliedLimit[];
}

/** The credits of the key, or those that it shares with the other keys of its identity. */
export function hasCredits({ credits, identity }: KeyEntry): boolean {
  return credits !== null || (identity !== null && identity.credits !== null);
}
