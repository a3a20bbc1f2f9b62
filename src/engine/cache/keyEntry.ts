import type { EntryCredits, EntryPermissions, PlanEntry, PlanSlot } from './planEntry.ts';
import type { AddressBlock } from '../../core/address.ts';
import type { Alerts, CreditsRecord } from '../../core/records.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import type { IdentityEntry } from './identityEntry.ts';
import type { LocalOwner } from '../local/localWindow.ts';

/** Fields that most keys do not have. They are kept separately, so that a million plain keys fit in memory. */
export interface KeyExtras {
  readonly name: string | null;
  readonly meta: string | null;
  readonly environment: string | null;
  readonly allowedBlocks: readonly AddressBlock[] | null;
  readonly permissions: EntryPermissions | null;
  /** Until when the secret is valid that this entry was found by. Infinity = it was not replaced. */
  readonly secretUntilMs: number;
  /** From this instant on the key itself is on another plan. Infinity = it stays. */
  readonly planMovesAtMs: number;
}

/** The accounts of windows that a key has opened for strict limits of its own plan, while the plan stays as it is. */
export interface PlanWindows {
  /** All limits of the plan. A plan that has changed has others. */
  readonly limits: readonly AppliedLimit[];
  /** In the order of the limits. */
  readonly accounts: (number | undefined)[];
}

/** A key as verification needs it. Replaced as a whole when the key changes. Only the cache makes one. */
export interface KeyEntry {
  readonly id: string;
  readonly apiId: string;
  readonly revision: number;
  readonly enabled: boolean;
  /** Infinity = never. */
  readonly expiresAtMs: number;
  readonly identity: IdentityEntry | null;
  /** The plan that the key is on itself; null = none. A key that belongs to an identity uses the plan of the identity. */
  readonly plan: PlanEntry | null;
  readonly credits: EntryCredits | null;
  /** Those of its identity, which all keys of that share. */
  readonly sharedCredits: EntryCredits | null;
  /** Its own limits and those of its plan; null = none. */
  readonly limits: readonly AppliedLimit[] | null;
  /** The limits that apply to every verification: its own and those of its plan, then those of its identity. null = none. */
  readonly alwaysApplied: readonly AppliedLimit[] | null;
  readonly extras: KeyExtras | null;
  /** Where its own local limits and those of its plan are counted. Set by `KeyCache.keepLocal`. */
  readonly local: LocalOwner | null;
  /** The windows of its own plan; null = none yet. Set by `KeyCache.keepWindow`. */
  readonly windows: PlanWindows | null;
  /** The descriptive fields as text for answers, created with the first answer. */
  wire: WireText | null;
}

/** Part of an answer, and whether its characters are bytes. */
export interface WireText {
  readonly text: string;
  readonly isAscii: boolean;
}

/** Where a key finds what others give it: its identity, or the plan that it is on itself. It has at most one of both. */
export interface Sources {
  /** Its row among the identities; null = none. */
  readonly identityRow: number | null;
  readonly planSlot: PlanSlot | null;
}

export const NO_SOURCES: Sources = { identityRow: null, planSlot: null };

/** What the cache knows of an entry beside what verification needs. Every KeyEntry is one. */
export interface CachedEntry extends KeyEntry {
  /** The accounts of its limits count from this number: many keys share their limits. */
  readonly accountsFrom: number;
  /** Its number among the cached keys. */
  readonly rowNumber: number;
  local: LocalOwner | null;
  windows: PlanWindows | null;
}

/** What stands beside the row of a key that has more data than fits into it. It is used in place of the numbers of the row. */
export interface KeySide {
  readonly id: string;
  readonly apiId: string;
  readonly revision: number;
  readonly credits: CreditsRecord | null;
  readonly alerts: Alerts | null;
  readonly limits: readonly AppliedLimit[] | null;
  readonly extras: KeyExtras | null;
  /** With what its identity or its plan gave when it was made; null = not made yet. */
  entry: CachedEntry | null;
}

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
