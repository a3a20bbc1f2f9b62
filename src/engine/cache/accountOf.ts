import type { AppliedLimit } from './appliedLimit.ts';
import type { CachedEntry } from './cachedEntry.ts';
import type { KeyEntry } from './keyEntry.ts';

/** The account that a strict limit of this key, or of its identity, is counted in; null: the limit has none. */
export function accountOf(entry: KeyEntry, { account }: AppliedLimit): number | null {
  // The limits of an identity count from 0, and so does a key that has an identity: it is not packed.
  return account === null ? null : (entry as CachedEntry).accountsFrom + (account as unknown as number);
}
