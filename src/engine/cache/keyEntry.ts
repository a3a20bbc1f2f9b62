import type { AddressBlock } from '../../core/address.ts';
import type { Fence } from '../../core/fence.ts';
import type { Grant, HeldPermissions } from '../../core/permissions.ts';
import type { HeldCredits, IdentityRecord, PlanRecord } from '../../core/records.ts';
import type { LocalOwner } from '../local/localWindow.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import type { OpenCount } from './openCount.ts';

/** Credits as verification needs them. */
export interface EntryCredits extends HeldCredits {
  /** A balance below this one may have to be told of. */
  readonly tellsBelow: number;
}

/** What a key may do, as it was when the key was looked up. */
export interface EntryPermissions {
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
  readonly grants: readonly Grant[];
  readonly held: HeldPermissions;
}

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

/** The limits that a plan gives, and those of them that apply to every verification; null = none. */
export interface GivenLimits {
  readonly all: readonly AppliedLimit[] | null;
  readonly always: readonly AppliedLimit[] | null;
}

/** A plan as verification needs it. All its holders share one object. */
export interface PlanEntry {
  readonly id: string;
  readonly revision: number;
  /** null: the plan does not exist. Its holders are refused, because nothing would limit them. */
  readonly record: PlanRecord | null;
  /** They count for the identity, which its keys share, or for a key that is on the plan itself. */
  readonly forIdentities: GivenLimits;
  readonly forKeys: GivenLimits;
  readonly permissions: EntryPermissions | null;
  readonly fence: Fence;
}

/** The accounts of windows that a holder has opened for strict limits of its plan, while the plan stays as it is. */
export interface PlanWindows {
  /** All limits of the plan. A plan that has changed has others. */
  readonly limits: readonly AppliedLimit[];
  /** In the order of the limits. */
  readonly accounts: (number | undefined)[];
}

/** Where the holders of a plan find it. */
export interface PlanSlot {
  readonly id: string;
  /** null: it must be read again. */
  entry: PlanEntry | null;
  reading: Promise<void> | null;
  /** It has changed while it was being read. */
  hasChanged: boolean;
  /** Why the last read failed. */
  failure: Error | null;
}

/** An identity as verification needs it, with what its plan gives. All its cached keys share one object. */
export interface IdentityEntry {
  readonly id: string;
  readonly externalId: string;
  readonly meta: string | null;
  readonly enabled: boolean;
  /** The plan that is part of it; null = none. */
  readonly plan: PlanEntry | null;
  /** Where its plan is found when it has changed. */
  readonly planSlot: PlanSlot | null;
  /** From this instant on it is on another plan. Infinity = it stays. */
  readonly planMovesAtMs: number;
  readonly credits: EntryCredits | null;
  /** null = none. */
  readonly limits: readonly AppliedLimit[] | null;
  /** Those of its limits that apply to every verification of its keys; null = none. */
  readonly alwaysApplied: readonly AppliedLimit[] | null;
  readonly revision: number;
  readonly record: IdentityRecord;
  readonly fence: Fence;
  /** Where its local limits are counted; null = not known yet. */
  local: LocalOwner | null;
  /** null = none yet. */
  windows: PlanWindows | null;
  /** What answers say of it, created with the first answer. */
  wire: IdentityWireText | null;
}

/** Parts of an answer about a key of an identity, and whether their characters are bytes. */
export interface IdentityWireText {
  readonly ownerId: string;
  readonly identity: string;
  /** What follows the id of a key that is enabled, does not expire and has nothing else to describe. */
  readonly usualEnd: string;
  readonly isAscii: boolean;
}

/** Where the keys of an identity find it. */
export interface IdentitySlot {
  readonly id: string;
  /** null: its keys must be looked up again. */
  entry: IdentityEntry | null;
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
  /** null = not needed yet. `KeyCache.fenceOf` makes it. */
  readonly fence: Fence | null;
  /** The descriptive fields as text for answers, created with the first answer. */
  wire: WireText | null;
}

/** Part of an answer, and whether its characters are bytes. */
export interface WireText {
  readonly text: string;
  readonly isAscii: boolean;
}
