import type { AccountChange } from '../../../core/accountChange.ts';
import { type AlertsPatch, requireThreshold } from '../../../core/alerts.ts';
import {
  type CounterPatch,
  isSameRule,
  meteredHasNoBalance,
  refillNeedsCredits,
  toRefillRule,
  wantedLimits,
} from '../../../core/counterPatch.ts';
import { AppError, repeatable } from '../../../core/errors.ts';
import { heldRefill, isMoveDue, runningEpoch } from '../../../core/plan.ts';
import { holdsExpired, sooner } from '../../../core/expiringCredits.ts';
import type {
  CreditsRecord,
  HeldCredits,
  LimitRecord,
  OnPlan,
  PlanMove,
  RefillRule,
  RefillRules,
} from '../../../core/records.ts';
import type { AdminContext } from './adminContext.ts';
import type { RefillSchedules } from '../../refillSchedules.ts';
import type { PlanRecord } from '../../../model/plans.ts';
import type { ReadAccount } from '../../../storage/port/storage.ts';

/** The credits and limits of a key or an identity. The record holds the rules, the ledger the numbers. */
interface Counters {
  /** The key or identity. */
  readonly id: string;
  readonly credits: CreditsRecord | null;
  readonly limits: readonly LimitRecord[];
  readonly revision: number;
}

export interface CounterContext {
  readonly refills: RefillSchedules;
  readonly nowMs: number;
  readonly defaultTimezone: string;
  /** Numbers for accounts that the change opens. It takes them from the front. */
  readonly freeAccounts: number[];
  /** The plan of the holder that is changed, and its move to another one; null = none. */
  readonly plan?: PlanRecord | null;
  readonly planMove?: PlanMove | null;
}

interface CounterChange {
  readonly counters: Counters;
  readonly accounts: readonly AccountChange[];
}

/** The most accounts that a patch can open. */
export function newAccountsNeeded(patch: CounterPatch): number {
  return 1 + (patch.defaultLimit ? 1 : 0) + (patch.otherLimits?.length ?? 0);
}

/**
 * The counters after a patch. Every account that stays gets the new revision, so that the ledger refuses a spend that was decided
 * under the old record.
 */
export function patchCounters(before: Counters, patch: CounterPatch, context: CounterContext): CounterChange {
  const revision = before.revision + 1;
  const { credits, accounts: ofCredits } = patchCredits(before, patch, context, revision);
  const { limits, accounts: ofLimits } = patchLimits(before, patch, context, revision);
  return { counters: { id: before.id, credits, limits, revision }, accounts: [...ofCredits, ...ofLimits] };
}

/** For a soft deletion: the counters keep their values, and the refill sweep skips them. */
export function retireAccounts(before: Counters, revision: number): AccountChange[] {
  return accountsOf(before).map((account) => ({
    account,
    owner: before.id,
    expect: before.revision,
    refill: null,
    sleeps: true,
    revision,
  }));
}

/** For a change of other fields: the counters keep their values under the next revision. */
export function touchAccounts(before: Counters, revision: number): AccountChange[] {
  const { id: owner, revision: expect } = before;
  return accountsOf(before).map((account) => ({ account, owner, expect, refill: null, revision }));
}

/** For a restored key: passed boundaries are applied, and the refill sweep includes the counters again. */
export function reviveAccounts(
  before: Counters & OnPlan,
  revision: number,
  { refills, nowMs, plan }: Pick<CounterContext, 'refills' | 'nowMs'> & { readonly plan: PlanRecord | null },
): AccountChange[] {
  // A move that has come due applies the boundaries itself: those before it under the old plan, the others under the new one.
  const rules = isMoveDue(before, nowMs) ? null : heldRefill(before.credits, plan);
  const movesAtMs = before.planMove?.atMs ?? Infinity;
  return accountsOf(before).map((account) => {
    const isCredits = account === before.credits?.account;
    const refill = isCredits ? refills.planOrNull(rules, account, nowMs) : null;
    const dueAtMs = isCredits ? Math.min(refill?.nextMs ?? Infinity, movesAtMs) : Infinity;
    const sweptAtMs = dueAtMs === Infinity ? 0 : dueAtMs;
    return { account, owner: before.id, expect: before.revision, refill, dueAtMs: sweptAtMs, revision };
  });
}

export function closeAccounts(before: Counters): AccountChange[] {
  const { credits, revision: expect, id } = before;
  const windows = accountsOf({ ...before, credits: null });
  const closed = windows.map((account) => ({ account, expect, close: true, refill: null, revision: 0 }) as const);
  return credits === null ? closed : [closing(credits, id, expect, 0), ...closed];
}

/** The index of the change to the credits' account, before or after the patch; -1 = none. */
export function creditsIndex(changes: readonly AccountChange[], before: Counters, after: Counters): number {
  return changes.findIndex(({ account }) => account === before.credits?.account || account === after.credits?.account);
}

function accountsOf({ credits, limits }: Counters): number[] {
  const others = limits.flatMap(({ account }) => account ?? []);
  return credits === null ? others : [credits.account, ...others];
}

function patchCredits(
  { id: owner, credits, revision: expect }: Counters,
  patch: CounterPatch,
  context: CounterContext,
  revision: number,
): { credits: CreditsRecord | null; accounts: AccountChange[] } {
  const plan = context.plan ?? null;
  if (patch.remaining === null && plan !== null && plan.remaining !== null) throw creditsOfPlan(plan);
  if (credits?.metered || patch.metered) return patchMetered({ owner, credits, expect }, patch, context, revision);
  if (patch.remaining === null || (credits === null && patch.remaining === undefined)) {
    if (patch.refill) throw refillNeedsCredits();
    if (credits === null) return { credits: null, accounts: [] };
    return { credits: null, accounts: [closing(credits, owner, expect, revision)] };
  }
  const refill = wantedRefill(credits?.refill ?? null, patch, context);
  const [old, rules] = [heldRefill(credits, plan), heldRefill({ account: 0, refill }, plan)];
  const isNewRule = credits === null || old !== rules;
  const account = credits?.account ?? takeAccount(context);
  const epoch = rules === null ? null : context.refills.epoch(rules, context.nowMs);
  const change: AccountChange = {
    account,
    owner,
    expect,
    ...(credits === null ? { open: 'credits' as const } : {}),
    refill: context.refills.planOrNull(old, account, context.nowMs),
    ...(patch.remaining === undefined ? {} : { set: patch.remaining }),
    ...(isNewRule
      ? { mark: epoch?.startMs ?? 0, dueAtMs: sooner(epoch?.nextMs ?? 0, context.planMove?.atMs ?? 0) }
      : {}),
    revision,
  };
  // A number that is set makes it a counter of the holder's own.
  const ofPlan = credits?.ofPlan && patch.remaining === undefined ? { ofPlan: true as const } : {};
  return { credits: { account, refill, ...ofPlan }, accounts: [change] };
}

/** Where metering begins, goes on or ends. A balance and a meter are different accounts. */
function patchMetered(
  { owner, credits, expect }: { owner: string; credits: CreditsRecord | null; expect: number },
  patch: CounterPatch,
  context: CounterContext,
  revision: number,
): { credits: CreditsRecord | null; accounts: AccountChange[] } {
  const plan = context.plan ?? null;
  if (patch.metered && (patch.remaining != null || patch.refill)) {
    throw meteredHasNoBalance();
  }
  const stays = credits?.metered && patch.metered !== false && patch.remaining == null;
  if (stays && patch.refill) throw refillNeedsCredits();
  if (stays) return { credits, accounts: [{ account: credits.account, owner, expect, refill: null, revision }] };
  if (credits?.ofPlan && plan?.metered && patch.remaining == null) throw creditsOfPlan(plan);
  const closed = credits === null ? [] : [closing(credits, owner, expect, revision)];
  if (patch.metered) {
    const account = takeAccount(context);
    const opening = { account, owner, expect, open: 'credits', metered: true, refill: null, revision } as const;
    return { credits: { account, refill: null, metered: true }, accounts: [...closed, opening] };
  }
  const { metered: _metered, ...rest } = patch;
  const next = patchCredits({ id: owner, credits: null, limits: [], revision: expect }, rest, context, revision);
  return { credits: next.credits, accounts: [...closed, ...next.accounts] };
}

/**
 * The counter that a plan brings to a holder without one, given the number of its account. It gets the next revision of the holder. null = the
 * plan brings none.
 */
export function openedByPlan(
  plan: PlanRecord,
  { id: owner, revision: expect }: Pick<Counters, 'id' | 'revision'>,
  nowMs: number,
): ((account: number) => { credits: CreditsRecord; account: AccountChange }) | null {
  if (plan.remaining === null && !plan.metered) return null;
  const metered = plan.metered ? ({ metered: true } as const) : {};
  const set = plan.remaining === null ? {} : { set: plan.remaining };
  return (account) => {
    const credits: CreditsRecord = { account, refill: null, ofPlan: true, ...metered };
    const start = startOf(heldRefill(credits, plan), nowMs);
    const opening = { account, owner, expect, open: 'credits', ...metered, refill: null, ...set, ...start } as const;
    return { credits, account: { ...opening, revision: expect + 1 } };
  };
}

/** Boundaries up to now count as applied: new rules refill at their next one. */
export function startOf(rules: RefillRules | null, nowMs: number): { mark: number; dueAtMs: number } {
  if (rules === null) return { mark: nowMs, dueAtMs: 0 };
  const { startMs, nextMs } = runningEpoch(rules, nowMs);
  return { mark: startMs, dueAtMs: nextMs };
}

/** The end of a counter. */
export function closing(credits: CreditsRecord, owner: string, expect: number, revision: number): AccountChange {
  const { account, metered } = credits;
  return { account, expect, close: true, owner, ...(metered ? { metered } : {}), refill: null, revision };
}

function creditsOfPlan({ name }: PlanRecord): AppError {
  const what = `The credits come from the plan ${repeatable(name)}`;
  return new AppError('BAD_REQUEST', `${what}. Set a number, or move to another plan (plans.assign).`);
}

function wantedRefill(before: RefillRule | null, patch: CounterPatch, context: CounterContext): RefillRule | null {
  if (patch.refill === undefined) return before;
  if (patch.refill === null) return null;
  const rule = toRefillRule(patch.refill, context.defaultTimezone, context.nowMs);
  return before !== null && isSameRule(before, rule) ? before : rule;
}

/** A strict limit keeps its account and its running window while name, duration and mode stay. Otherwise it gets a new account. */
function patchLimits(
  before: Counters,
  patch: CounterPatch,
  context: CounterContext,
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

function takeAccount(context: CounterContext): number {
  const account = context.freeAccounts.shift();
  if (account === undefined) throw new Error('too few accounts were reserved for a change');
  return account;
}

interface AlertedPatch {
  readonly alerts?: AlertsPatch | null;
  readonly remaining?: number | null;
}

/** The credits that a patch changes. */
interface PatchedCredits {
  readonly id: string;
  readonly before: HeldCredits | null;
  readonly after: HeldCredits | null;
}

/** Refuses a threshold above the balance. A refill that the patch sets has refilled nothing yet. */
export async function requireBalance(
  context: Pick<AdminContext, 'storage' | 'refills' | 'dueCredits'>,
  { alerts, remaining }: AlertedPatch,
  { id: owner, before, after }: PatchedCredits,
): Promise<void> {
  if (alerts?.creditsBelow == null) return;
  if (after === null || after.metered) return requireThreshold(alerts, null);
  if (remaining != null) return requireThreshold(alerts, remaining);
  const [account] = await readCredits(context, [{ id: owner, credits: before }]);
  const { refills, storage } = context;
  const nowMs = storage.ledger.nowMs();
  requireThreshold(alerts, account === undefined ? null : refills.balance(account, before?.refill ?? null, nowMs));
}

/** A key or identity with its credits. */
interface CreditsHolder {
  readonly id: string;
  readonly credits: HeldCredits | null;
}

/** The accounts of these keys or identities, in their order. Reservations whose time is over are ended before. */
export async function readCredits(
  { storage, dueCredits }: Pick<AdminContext, 'storage' | 'dueCredits'>,
  holders: readonly CreditsHolder[],
): Promise<readonly (ReadAccount | undefined)[]> {
  const states = await readAccounts(storage, holders);
  const nowMs = storage.ledger.nowMs();
  const due = holders.filter((_, i) => holdsExpired(states[i]?.pockets, nowMs));
  if (due.length === 0) return states;
  for (const { id } of due) await dueCredits.settle(id);
  return readAccounts(storage, holders);
}

async function readAccounts(
  { ledger }: AdminContext['storage'],
  holders: readonly CreditsHolder[],
): Promise<(ReadAccount | undefined)[]> {
  const accounts = holders.flatMap(({ credits }) => credits?.account ?? []);
  const states = accounts.length === 0 ? [] : await ledger.read(accounts);
  const stateOf = new Map(accounts.map((account, i) => [account, states[i]]));
  return holders.map(({ credits }) => (credits === null ? undefined : stateOf.get(credits.account)));
}
