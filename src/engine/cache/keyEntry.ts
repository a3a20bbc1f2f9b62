import type { AddressBlock } from '../../core/address.ts';
import type { LocalOwner } from '../local/localWindow.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import type { IdentityEntry } from './identityEntry.ts';
import type { OpenCount } from './openCount.ts';
import type { EntryCredits, EntryPermissions, PlanEntry } from './planEntry.ts';

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
  /** The plan that the key is on itself; null = none. A key of an identity follows the plan of that. */
  readonly plan: PlanEntry | null;
  readonly credits: EntryCredits | null;
  /** Those of its identity, which all keys of that share. */
  readonly sharedCredits: EntryCredits | null;
  /** Its own limits and those of its plan; null = none. */
  readonly limits: readonly AppliedLimit[] | null;
  /** The limits that apply to every verification: its own and those of its plan, then those of its identity. null = none. */
  readonly alwaysApplied: readonly AppliedLimit[] | null;
  readonly extras: KeyExtras | null;
  /** Counts its verifications, where `KeyCounts.keeps` says so. */
  openCount: OpenCount | null;
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
