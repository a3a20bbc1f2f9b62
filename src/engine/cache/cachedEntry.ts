import type { LocalOwner } from '../local/localWindow.ts';
import type { EntryAccess, IdentitySlot, KeyEntry } from './keyEntry.ts';

/** What the cache knows of an entry beside what verification needs. Every KeyEntry is one. */
export interface CachedEntry extends KeyEntry {
  /** The accounts of its limits count from this number: many packed keys share their limits. */
  readonly accountsFrom: number;
  /** Its number among the packed keys; -1 = it is kept as an object. */
  readonly rowNumber: number;
  /** Where its identity is found when that or its plan has changed. */
  readonly identitySlot: IdentitySlot | null;
  /** The roles and permissions of the key itself, without those of a plan. */
  readonly ownAccess: EntryAccess | null;
  local: LocalOwner | null;
}
