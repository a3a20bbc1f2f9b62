import type { AccountState } from '../../core/account.ts';
import type { IdentityRecord, KeyRecord } from '../../core/records.ts';
import type { Refills } from '../refills.ts';

/** A key as a reader sees it: the record, and its counter as it stands now. */
export interface KeyView {
  readonly key: KeyRecord;
  readonly identity: IdentityRecord | null;
  readonly remaining: number | null;
  /** The last boundary that refilled the key; null when none has yet. */
  readonly lastRefillAtMs: number | null;
  readonly nextRefillAtMs: number | null;
}

export interface ViewInput {
  readonly key: KeyRecord;
  readonly identity: IdentityRecord | null;
  readonly state: AccountState | undefined;
  readonly refills: Refills;
  readonly nowMs: number;
}

export function viewKey({ key, identity, state, refills, nowMs }: ViewInput): KeyView {
  const refill = key.credits?.refill ?? null;
  const remaining = state === undefined ? null : refills.balance(state, refill, nowMs);
  if (refill === null) return { key, identity, remaining, lastRefillAtMs: null, nextRefillAtMs: null };
  const plan = refills.plan(refill, nowMs);
  const lastRefillAtMs = plan.startMs > refill.sinceMs ? plan.startMs : null;
  return { key, identity, remaining, lastRefillAtMs, nextRefillAtMs: plan.nextMs };
}
