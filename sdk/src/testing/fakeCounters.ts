import { type AlertsPatch, alertsWithoutCredits, patchedAlerts, requireThreshold } from '../../../src/core/alerts.ts';
import type { RefillSchedule } from '../../../src/core/account.ts';
import { METERED_ZERO } from '../../../src/core/accountBook.ts';
import { MAX_METERED_COST } from '../../../src/core/bounds.ts';
import { epochAt } from '../../../src/core/calendar.ts';
import {
  isSameRule,
  type LimitInput,
  meteredHasNoBalance,
  refillNeedsCredits,
  toRefillRule,
  wantedLimits,
} from '../../../src/core/counterPatch.ts';
import { AppError } from '../../../src/core/errors.ts';
import { type Alerts, DEFAULT_LIMIT_NAME, type LimitRecord, type RefillRule } from '../../../src/core/records.ts';
import { planRefill } from '../../../src/core/plan.ts';
import type { Charge } from '../../../src/core/spend.ts';
import type { KeysUpdateKeyRequest, SharedRatelimit } from '../generated/api.ts';
import type { FakeLedger } from './fakeLedger.ts';

/** What has credits and limits: a key or an identity. */
export interface FakeOwner {
  readonly id: string;
  /** null: no counter, so unlimited. `metered`: what it spends is counted without a balance. */
  credits: { readonly refill: RefillRule | null; readonly metered?: true } | null;
  alerts: Alerts | null;
  limits: readonly LimitRecord[];
}

export type CounterFields = Pick<KeysUpdateKeyRequest, 'remaining' | 'metered' | 'refill' | 'ratelimit' | 'alerts'> & {
  readonly ratelimits?: readonly SharedRatelimit[] | null | undefined;
};

/** Throws when the fields cannot be set. */
export function checkCounters(owner: FakeOwner, fields: CounterFields): void {
  wantedLimits(owner.limits, toLimitPatch(fields));
  if (fields.metered && (fields.remaining != null || fields.refill)) throw meteredHasNoBalance();
  if (fields.refill && endsWithoutCounter(owner, fields)) throw refillNeedsCredits();
}

function endsWithoutCounter(owner: FakeOwner, fields: CounterFields): boolean {
  const { remaining } = fields;
  const hasBalance = owner.credits !== null && !owner.credits.metered;
  return remaining === null || isMeteredAfter(owner, fields) || (!hasBalance && remaining === undefined);
}

function isMeteredAfter({ credits }: FakeOwner, { metered, remaining }: CounterFields): boolean {
  return metered === true || (credits?.metered === true && metered !== false && remaining == null);
}

function alertsOf({ alerts }: CounterFields): AlertsPatch | null | undefined {
  return alerts as AlertsPatch | null | undefined;
}

/** What there is after the change; null: no credits. */
function balanceAfter(ledger: FakeLedger, owner: FakeOwner, fields: CounterFields, nowMs: number): number | null {
  if (endsWithoutCounter(owner, fields)) return null;
  return fields.remaining ?? balanceOf(ledger, owner, nowMs);
}

/** Sets what is given; null clears, and absent keeps. */
export function changeCounters(ledger: FakeLedger, owner: FakeOwner, fields: CounterFields, nowMs: number): void {
  checkCounters(owner, fields);
  requireThreshold(alertsOf(fields), balanceAfter(ledger, owner, fields, nowMs));
  const limits = wantedLimits(owner.limits, toLimitPatch(fields));
  changeCredits(ledger, owner, fields, nowMs);
  const before = fields.remaining === null ? alertsWithoutCredits(owner.alerts) : owner.alerts;
  owner.alerts = patchedAlerts(before, alertsOf(fields));
  // A strict limit keeps its window while its name, duration and mode stay.
  const accounts = new Set(limits.map((limit) => limitAccount(owner.id, limit)));
  for (const limit of owner.limits.filter(({ async }) => !async))
    if (!accounts.has(limitAccount(owner.id, limit))) ledger.close(limitAccount(owner.id, limit));
  owner.limits = limits;
}

/** Without a counter there is no refill: both end together. */
function changeCredits(ledger: FakeLedger, owner: FakeOwner, fields: CounterFields, nowMs: number): void {
  const { remaining, refill } = fields;
  if (isMeteredAfter(owner, fields)) {
    if (!owner.credits?.metered) beginMeter(ledger, owner, nowMs);
    return;
  }
  // A balance and a meter are different accounts.
  if (remaining === null || owner.credits?.metered || endsWithoutCounter(owner, fields)) {
    owner.credits = null;
    ledger.close(creditsAccount(owner));
  }
  if (remaining === null || endsWithoutCounter(owner, fields)) return;
  const before = owner.credits?.refill ?? null;
  const rule = wantedRefill(before, refill, nowMs);
  const account = ledger.account(creditsAccount(owner), 'credits');
  const epoch = rule === null ? null : epochAt(rule, nowMs);
  const change = {
    refill: planOf(before, ledger.markOf(account), nowMs),
    ...(remaining === undefined ? {} : { set: remaining }),
    // A new rule refills at its next boundary, not at once.
    ...(before === rule ? {} : { mark: epoch?.startMs ?? 0, dueAtMs: epoch?.nextMs ?? 0 }),
  };
  ledger.change(account, change, nowMs);
  owner.credits = { refill: rule };
}

function beginMeter(ledger: FakeLedger, owner: FakeOwner, nowMs: number): void {
  ledger.close(creditsAccount(owner));
  ledger.change(ledger.account(creditsAccount(owner), 'credits'), { refill: null, set: METERED_ZERO }, nowMs);
  owner.credits = { refill: null, metered: true };
}

function wantedRefill(before: RefillRule | null, given: CounterFields['refill'], nowMs: number): RefillRule | null {
  if (given === undefined || given === null) return given === null ? null : before;
  const { interval, amount, refillDay = null, refillWeekday = null, timezone = null } = given;
  const { mode = 'restore', max = null } = given;
  const rule = toRefillRule({ interval, amount, refillDay, refillWeekday, timezone, mode, max }, 'UTC', nowMs);
  return before !== null && isSameRule(before, rule) ? before : rule;
}

function planOf(rule: RefillRule | null, markMs: number, nowMs: number): RefillSchedule | null {
  return rule === null ? null : planRefill(rule, markMs, nowMs);
}

/** The charge of an owner's credits; none without a counter. */
export function creditCharges(ledger: FakeLedger, owner: FakeOwner, amount: number, nowMs: number): Charge[] {
  if (owner.credits === null) return [];
  if (owner.credits.metered && amount > MAX_METERED_COST)
    throw new AppError('BAD_REQUEST', `A metered verification costs at most ${MAX_METERED_COST}, got ${amount}.`);
  const account = ledger.account(creditsAccount(owner), 'credits');
  const refill = planOf(owner.credits.refill, ledger.markOf(account), nowMs);
  return [{ account, amount, rule: { kind: 'credits', refill }, revision: 0 }];
}

/** null: unlimited, or metered. */
export function balanceOf(ledger: FakeLedger, owner: FakeOwner, nowMs: number): number | null {
  if (owner.credits?.metered) return null;
  const [charge] = creditCharges(ledger, owner, 0, nowMs);
  return charge === undefined ? null : ledger.look(charge, nowMs).left;
}

/** Two limits with the same name, duration, mode and owner are one counter. */
export function limitAccount(
  ownerId: string,
  { async, durationMs, name }: Pick<LimitRecord, 'async' | 'durationMs' | 'name'>,
): string {
  return `limit ${ownerId} ${async ? 'local' : 'strict'} ${durationMs} ${name}`;
}

function creditsAccount({ id }: FakeOwner): string {
  return `credits ${id}`;
}

function toLimitPatch({ ratelimit, ratelimits }: CounterFields) {
  return {
    ...(ratelimit === undefined ? {} : { defaultLimit: ratelimit && toDefaultLimit(ratelimit) }),
    ...(ratelimits === undefined ? {} : { otherLimits: ratelimits?.map(toLimitInput) ?? null }),
  };
}

/** The older names mean the same. */
function toDefaultLimit(given: NonNullable<CounterFields['ratelimit']>): LimitInput {
  const { limit = given.refillRate, duration = given.refillInterval, type } = given;
  if (limit === undefined || duration === undefined)
    throw new AppError('BAD_REQUEST', `ratelimit.${limit === undefined ? 'limit' : 'duration'} is missing`);
  const async = given.async ?? (type === undefined ? null : type === 'fast');
  return { name: DEFAULT_LIMIT_NAME, limit, durationMs: duration, async, ...optionsOf(given) };
}

function toLimitInput({ name, limit, duration, async, ...options }: SharedRatelimit): LimitInput {
  return { name, limit, durationMs: duration, async: async ?? null, ...optionsOf(options) };
}

function optionsOf({
  autoApply,
  notify,
}: Pick<SharedRatelimit, 'autoApply' | 'notify'>): Pick<LimitInput, 'autoApply' | 'notify'> {
  return { ...(autoApply === undefined ? {} : { autoApply }), ...(notify === undefined ? {} : { notify }) };
}
