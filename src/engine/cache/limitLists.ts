import { notReplaced } from '../../core/plan.ts';
import type { LimitRecord } from '../../core/records.ts';
import type { AppliedLimit, LimitAccount } from './appliedLimit.ts';

/** A limit as configured. It is kept with the key, so that it is not created again for every verification. */
export function asConfigured(configured: LimitRecord): AppliedLimit {
  const { name, limit, durationMs, async, notify = false } = configured;
  const account = configured.account as unknown as LimitAccount | null;
  return { name, limit, durationMs, async, cost: 1, ofIdentity: false, isAdHoc: false, account, notify, wire: null };
}

export function orNone(limits: readonly AppliedLimit[]): readonly AppliedLimit[] | null {
  return limits.length === 0 ? null : limits;
}

export function joined(
  own: readonly AppliedLimit[] | null,
  shared: readonly AppliedLimit[] | null,
): readonly AppliedLimit[] | null {
  return own === null || shared === null ? (own ?? shared) : [...own, ...shared];
}

/** The limits of a holder and those that its plan gives. `own`: all that it has, which replace those of the same name. */
export function withGiven(
  limits: readonly AppliedLimit[] | null,
  given: readonly AppliedLimit[] | null,
  own: readonly AppliedLimit[] | null = limits,
): readonly AppliedLimit[] | null {
  if (given === null || own === null) return joined(limits, given);
  const added = notReplaced(given, own);
  return added.length === 0 ? limits : joined(limits, added);
}
