import type { AppliedLimit } from './appliedLimit.ts';
import type { CachedEntry } from './cachedEntry.ts';
import type { KeyEntry } from './keyEntry.ts';

/** The account of a window that was opened for a strict limit of the plan; null = it must be asked for. */
export function windowOf({ identity }: KeyEntry, limit: AppliedLimit): number | null {
  return identity?.windows?.get(limit) ?? null;
}

/** A window that has ended may be removed. A spend on it is then stale, and the identity is looked up again. */
export function keepWindow({ identity }: KeyEntry, limit: AppliedLimit, account: number): void {
  // A limit with the cost of a request is another object with every request.
  if (identity?.plan?.limits.includes(limit)) (identity.windows ??= new Map()).set(limit, account);
}

/** The account that a strict limit of this key, or of its identity, is counted in; null: the limit has none. */
export function accountOf(entry: KeyEntry, { account, ofIdentity }: AppliedLimit): number | null {
  if (account === null) return null;
  // The limits of an identity count from 0.
  return (ofIdentity ? 0 : (entry as CachedEntry).accountsFrom) + (account as unknown as number);
}
