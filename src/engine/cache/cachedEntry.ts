import type { LocalOwner } from '../local/localWindow.ts';
import type { Alerts, CreditsRecord } from '../../core/records.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import type { EntryPermissions, PlanSlot } from './planEntry.ts';
import type { KeyEntry, PlanWindows } from './keyEntry.ts';

/** What a key has itself, without what its identity or a plan gives. */
export interface OwnFields {
  readonly credits: CreditsRecord | null;
  readonly alerts: Alerts | null;
  readonly limits: readonly AppliedLimit[] | null;
  readonly permissions: EntryPermissions | null;
}

/** Where a key finds what others give it: its identity, or the plan that it is on itself. It has at most one of both. */
export interface Sources {
  /** Its row among the identities; null = none. The row of a packed key has it itself. */
  readonly identityRow: number | null;
  readonly planSlot: PlanSlot | null;
}

export const NO_SOURCES: Sources = { identityRow: null, planSlot: null };

/** The key gets nothing from others. */
export function isByItself({ identityRow, planSlot }: Sources): boolean {
  return identityRow === null && planSlot === null;
}

/** What the cache knows of an entry beside what verification needs. Every KeyEntry is one. */
export interface CachedEntry extends KeyEntry, Sources {
  /** The accounts of its limits count from this number: many packed keys share their limits. */
  readonly accountsFrom: number;
  /** Its number among the packed keys; -1 = it is kept as an object. */
  readonly rowNumber: number;
  /** Of an entry that is kept as an object, so that it can follow a change of its sources; null = it is packed. */
  readonly own: OwnFields | null;
  local: LocalOwner | null;
  windows: PlanWindows | null;
  /** What is noted about its records; 0 = nothing. Not used of a packed one. */
  checkedAt: number;
}
