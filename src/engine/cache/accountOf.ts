import type { AppliedLimit } from './appliedLimit.ts';
import type { CachedEntry } from './cachedEntry.ts';
import type { KeyEntry, PlanWindows } from './keyEntry.ts';

/** The account of a window that was opened for a strict limit of the plan; null = it must be asked for. */
export function windowOf({ identity, windows }: KeyEntry, limit: AppliedLimit): number | null {
  if (identity !== null) return identity.windowOf(limit);
  return windows === null ? null : (windows.accounts[windows.limits.indexOf(limit)] ?? null);
}

/** The windows of a key with one more. Those of a plan that has changed since are forgotten. */
export function withWindow(
  known: PlanWindows | null,
  limits: readonly AppliedLimit[],
  [limit, account]: readonly [AppliedLimit, number],
): PlanWindows {
  const windows = known?.limits === limits ? known : { limits, accounts: [] };
  windows.accounts[limits.indexOf(limit)] = account;
  return windows;
}

/** The account that a strict limit of this key, or of its identity, is counted in; null: the limit has none. */
export function accountOf(entry: KeyEntry, { account, ofIdentity }: AppliedLimit): number | null {
  if (account === null) return null;
  // The limits of an identity count from 0.
  return (ofIdentity ? 0 : (entry as CachedEntry).accountsFrom) + (account as unknown as number);
}
