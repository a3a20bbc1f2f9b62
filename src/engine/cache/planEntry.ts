import type { Fence } from '../../core/fence.ts';
import type { Grant, HeldPermissions } from '../../core/permissions.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import type { PlanRecord } from '../../model/plans.ts';

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
  /** What its identities have alike, by their kind (identities.ts). */
  readonly traits: IdentityTraits[];
}

/** Where the holders of a plan find it. */
export interface PlanSlot {
  readonly id: string;
  /** Among the plans in memory, from 1. */
  readonly number: number;
  /** null: it must be read again. */
  entry: PlanEntry | null;
  reading: Promise<void> | null;
  /** It has changed while it was being read. */
  hasChanged: boolean;
  /** Why the last read failed. */
  failure: Error | null;
}

/** What identities of one plan have alike. Those that have nothing else of their own share one object. */
export interface IdentityTraits {
  readonly enabled: boolean;
  readonly plan: PlanEntry | null;
  readonly planSlot: PlanSlot | null;
  readonly planMovesAtMs: number;
  readonly credits: Omit<EntryCredits, 'account'> | null;
  readonly limits: readonly AppliedLimit[] | null;
  readonly alwaysApplied: readonly AppliedLimit[] | null;
}
