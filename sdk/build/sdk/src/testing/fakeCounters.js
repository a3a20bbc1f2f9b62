import { epochAt } from '../../../src/core/calendar.js';
import {
  isSameRule,
  isSameSchedule,
  refillNeedsCredits,
  toRefillRule,
  wantedLimits,
} from '../../../src/core/counterPatch.js';
import { AppError } from '../../../src/core/errors.js';
import { DEFAULT_LIMIT_NAME } from '../../../src/core/records.js';
import { planRefill } from '../../../src/core/refillPlan.js';
/** Throws when the fields cannot be set. */
export function checkCounters(owner, fields) {
  wantedLimits(owner.limits, toLimitPatch(fields));
  if (fields.refill && endsWithoutCounter(owner, fields)) throw refillNeedsCredits();
}
function endsWithoutCounter({ credits }, { remaining }) {
  return remaining === null || (credits === null && remaining === undefined);
}
/** Sets what is given; null clears, and absent keeps. */
export function changeCounters(ledger, owner, fields, nowMs) {
  checkCounters(owner, fields);
  const limits = wantedLimits(owner.limits, toLimitPatch(fields));
  changeCredits(ledger, owner, fields, nowMs);
  // A strict limit keeps its window while its name, duration and mode stay.
  const accounts = new Set(limits.map((limit) => limitAccount(owner.id, limit)));
  for (const limit of owner.limits.filter(({ async }) => !async))
    if (!accounts.has(limitAccount(owner.id, limit))) ledger.close(limitAccount(owner.id, limit));
  owner.limits = limits;
}
/** Without a counter there is no refill: both end together. */
function changeCredits(ledger, owner, fields, nowMs) {
  const { remaining, refill } = fields;
  if (remaining === null || endsWithoutCounter(owner, fields)) {
    owner.credits = null;
    ledger.close(creditsAccount(owner));
    return;
  }
  const before = owner.credits?.refill ?? null;
  const rule = wantedRefill(before, refill, nowMs);
  const account = ledger.account(creditsAccount(owner), 'credits');
  const epoch = rule === null ? null : epochAt(rule, nowMs);
  const change = {
    refill: planOf(before, ledger.markOf(account), nowMs),
    ...(remaining === undefined ? {} : { set: remaining }),
    // A new rule refills at its next boundary, not at once.
    ...(isSameSchedule(before, rule) ? {} : { mark: epoch?.startMs ?? 0, dueAtMs: epoch?.nextMs ?? 0 }),
  };
  ledger.change(account, change, nowMs);
  owner.credits = { refill: rule };
}
function wantedRefill(before, given, nowMs) {
  if (given === undefined || given === null) return given === null ? null : before;
  const { interval, amount, refillDay = null, refillWeekday = null, timezone = null } = given;
  const { mode = 'restore', max = null } = given;
  const rule = toRefillRule({ interval, amount, refillDay, refillWeekday, timezone, mode, max }, 'UTC', nowMs);
  return before !== null && isSameRule(before, rule) ? before : rule;
}
function planOf(rule, markMs, nowMs) {
  return rule === null ? null : planRefill(rule, markMs, nowMs);
}
/** The charge of an owner's credits; none without a counter. */
export function creditCharges(ledger, owner, amount, nowMs) {
  if (owner.credits === null) return [];
  const account = ledger.account(creditsAccount(owner), 'credits');
  const refill = planOf(owner.credits.refill, ledger.markOf(account), nowMs);
  return [{ account, amount, rule: { kind: 'credits', refill }, revision: 0 }];
}
/** null: unlimited. */
export function balanceOf(ledger, owner, nowMs) {
  const [charge] = creditCharges(ledger, owner, 0, nowMs);
  return charge === undefined ? null : ledger.look(charge, nowMs).left;
}
/** Two limits with the same name, duration, mode and owner are one counter. */
export function limitAccount(ownerId, { async, durationMs, name }) {
  return `limit ${ownerId} ${async ? 'local' : 'strict'} ${durationMs} ${name}`;
}
function creditsAccount({ id }) {
  return `credits ${id}`;
}
function toLimitPatch({ ratelimit, ratelimits }) {
  return {
    ...(ratelimit === undefined ? {} : { defaultLimit: ratelimit && toDefaultLimit(ratelimit) }),
    ...(ratelimits === undefined ? {} : { otherLimits: ratelimits?.map(toLimitInput) ?? null }),
  };
}
/** The older names mean the same. */
function toDefaultLimit(given) {
  const { limit = given.refillRate, duration = given.refillInterval, type } = given;
  if (limit === undefined || duration === undefined)
    throw new AppError('BAD_REQUEST', `ratelimit.${limit === undefined ? 'limit' : 'duration'} is missing`);
  const async = given.async ?? (type === undefined ? null : type === 'fast');
  const { autoApply } = given;
  return {
    name: DEFAULT_LIMIT_NAME,
    limit,
    durationMs: duration,
    async,
    ...(autoApply === undefined ? {} : { autoApply }),
  };
}
function toLimitInput({ name, limit, duration, async, autoApply }) {
  return {
    name,
    limit,
    durationMs: duration,
    async: async ?? null,
    ...(autoApply === undefined ? {} : { autoApply }),
  };
}
