import type { LocalOwner } from '../local/localWindow.ts';
import type { KeyEntry } from './keyEntry.ts';

/** What the cache knows of an entry beside what verification needs. Every KeyEntry is one. */
export interface CachedEntry extends KeyEntry {
  /** The accounts of its limits count from this number: many packed keys share their limits. */
  readonly accountsFrom: number;
  /** Its number among the packed keys; -1 = it is kept as an object. */
  readonly rowNumber: number;
  local: LocalOwner | null;
}
