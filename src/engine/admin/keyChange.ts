import type { AccountChange } from '../../core/account.ts';
import { AppError } from '../../core/errors.ts';
import type { CreditsRecord, KeyRecord, LimitRecord, RefillRule } from '../../core/records.ts';
import type { Refills } from '../refills.ts';
import { isSameRule, isSameSchedule, type KeyPatch, toRefillRule, wantedLimits } from './keyInput.ts';

export interface KeyChangeContext {
  readonly refills: Refills;
  readonly nowMs: number;
  readonly defaultTimezone: string;
  /** Numbers for accounts that the change opens; it takes them from the front. */
  readonly freeAccounts: number[];
}

export interface KeyChange {
  readonly key: KeyRecord;
  readonly accounts: readonly AccountChange[];
}

/** Accounts that a patch opens at the most. */
export function newAccountsNeeded(patch: KeyPatch): number {
  return 1 + (patch.defaultLimit ? 1 : 0) + (patch.otherLimits?.length ?? 0);
}

/**
 * The key after a patch, with what this means for its counters. Every account that stays gets the new revision, so that
 * a spend decided under the old record is refused by the ledger.
 */
export function patchKey(before: KeyRecord, patch: KeyPatch, context: KeyChangeContext): KeyChange {
  const revision = before.revision + 1;
  const credits = patchCredits(before, patch, context, revision);
  const limits = patchLimits(before, patch, context, revision);
  const key: KeyRecord = {
    ...before,
    name: patch.name === undefined ? before.name : patch.name,
    meta: patch.meta === undefined ? before.meta : patch.meta,
    environment: patch.environment === undefined ? before.environment : patch.environment,
    enabled: patch.enabled ?? before.enabled,
    expiresAtMs: patch.expiresAtMs === undefined ? before.expiresAtMs : patch.expiresAtMs,
    ipAllowlist: patch.ipAllowlist === undefined ? before.ipAllowlist : (patch.ipAllowlist ?? []),
    credits: credits.credits,
    limits: limits.limits,
    revision,
  };
  return { key, accounts: [...credits.accounts, ...limits.accounts] };
}

/** The counters of a key that is softly deleted: they stay as they are, and the sweep passes them by. */
export function retireAccounts(key: KeyRecord, revision: number): AccountChange[] {
  return accountsOf(key).map((account) => ({ account, expect: key.revision, refill: null, dueAtMs: 0, revision }));
}

export function closeAccounts(key: KeyRecord): AccountChange[] {
  return accountsOf(key).map((account) => ({ account, expect: key.revision, close: true, refill: null, revision: 0 }));
}

function accountsOf(key: KeyRecord): number[] {
  const strict = key.limits.flatMap(({ account }) => account ?? []);
  return key.credits === null ? strict : [key.credits.account, ...strict];
}

function patchCredits(
  { credits, revision: expect }: KeyRecord,
  patch: KeyPatch,
  context: KeyChangeContext,
  revision: number,
): { credits: CreditsRecord | null; accounts: AccountChange[] } {
  if (patch.remaining === null || (credits === null && patch.remaining === undefined)) {
    if (patch.refill) throw new AppError('BAD_REQUEST', 'A refill needs a counter: give remaining with it.');
    if (credits === null) return { credits: null, accounts: [] };
    return { credits: null, accounts: [{ account: credits.account, expect, close: true, refill: null, revision }] };
  }
  const refill = wantedRefill(credits?.refill ?? null, patch, context);
  const isNewSchedule = !isSameSchedule(credits?.refill ?? null, refill);
  const plan = context.refills.planOrNull(refill, context.nowMs);
  const change: AccountChange = {
    account: credits?.account ?? takeAccount(context),
    expect,
    ...(credits === null ? { open: 'credits' as const } : {}),
    refill: context.refills.planOrNull(credits?.refill ?? null, context.nowMs),
    ...(patch.remaining === undefined ? {} : { set: patch.remaining }),
    ...(isNewSchedule ? { mark: plan?.epoch ?? 0, dueAtMs: plan?.nextMs ?? 0 } : {}),
    revision,
  };
  return { credits: { account: change.account, refill }, accounts: [change] };
}

function wantedRefill(before: RefillRule | null, patch: KeyPatch, context: KeyChangeContext): RefillRule | null {
  if (patch.refill === undefined) return before;
  if (patch.refill === null) return null;
  const rule = toRefillRule(patch.refill, context.defaultTimezone, context.nowMs);
  return before !== null && isSameRule(before, rule) ? before : rule;
}

/** A strict window goes on under its account while name, duration and mode stay; otherwise it ends and a new one begins. */
function patchLimits(
  before: KeyRecord,
  patch: KeyPatch,
  context: KeyChangeContext,
  revision: number,
): { limits: LimitRecord[]; accounts: AccountChange[] } {
  const accounts: AccountChange[] = [];
  const kept = new Set<number>();
  const limits = wantedLimits(before.limits, patch).map((wanted): LimitRecord => {
    if (wanted.async) return wanted;
    const same = before.limits.find(
      (old) => old.name === wanted.name && old.durationMs === wanted.durationMs && !old.async,
    );
    const account = same?.account ?? takeAccount(context);
    kept.add(account);
    accounts.push({
      account,
      expect: before.revision,
      ...(same === undefined ? { open: 'window' as const } : {}),
      refill: null,
      revision,
    });
    return { ...wanted, account };
  });
  for (const { account } of before.limits) {
    if (account !== null && !kept.has(account)) {
      accounts.push({ account, expect: before.revision, close: true, refill: null, revision });
    }
  }
  return { limits, accounts };
}

function takeAccount(context: KeyChangeContext): number {
  const account = context.freeAccounts.shift();
  if (account === undefined) throw new Error('too few accounts were reserved for a change');
  return account;
}
