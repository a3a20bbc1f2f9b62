import type { AppliedLimit } from './appliedLimit.ts';
import type { CachedEntry } from './cachedEntry.ts';
import type { KeyEntry } from './keyEntry.ts';

/** The account that a strict limit of this key, or of its identity, is counted in; null: the limit has none. */
export function accountOf(entry: KeyEntry, { account, ofIdentity }: AppliedLimit): number | null {
  if (account === null) return null;
  // The limits of an identity count from 0.
  return (ofIdentity ? 0 : (entry as CachedEntry).accountsFrom) + (account as unknown as number);
}
