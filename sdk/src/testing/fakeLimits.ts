import { AppError } from '../../../src/core/errors.ts';
import { DEFAULT_LIMIT_NAME, type LimitRecord } from '../../../src/core/records.ts';
import type { Charge } from '../../../src/core/spend.ts';
import type { RequestedRatelimit, VerifyRequest } from '../generated/api.ts';
import { type FakeOwner, limitAccount } from './fakeCounters.ts';
import type { FakeLedger } from './fakeLedger.ts';

/** A limit that one verification counts. */
export interface AppliedLimit extends Omit<LimitRecord, 'account' | 'autoApply' | 'notify'> {
  readonly cost: number;
  readonly ownerId: string;
}

/**
 * All limits of the key, those of its identity that apply by themselves, and those that the request names. The cost of a request
 * counts in each limit of that name; its numbers replace those of the key's limit, else those of the identity's. With limit and duration, a
 * request makes an ad-hoc limit, which counts for the identity if there is one.
 */
export function appliedLimits(key: FakeOwner, identity: FakeOwner | null, request: VerifyRequest): AppliedLimit[] {
  const requested = requestedLimits(request);
  const adHocOwnerId = identity?.id ?? key.id;
  const always = [...limitsOf(key), ...(identity === null ? [] : limitsOf(identity).filter(isAutomatic(identity)))];
  const applied = always.map((limit) => {
    const named = requested.find(({ name }) => name === limit.name);
    if (named === undefined) return limit;
    const isDouble = always.some((other) => other.name === limit.name && other !== limit);
    if (!isDouble) return asRequested(named, limit, adHocOwnerId);
    return limit.ownerId === key.id ? withNumbers(limit, named) : { ...limit, cost: named.cost ?? 1 };
  });
  const others = requested.filter(({ name }) => !always.some((limit) => limit.name === name));
  const shared = identity === null ? [] : limitsOf(identity);
  return [
    ...applied,
    ...others.map((named) => {
      const configured = shared.find(({ name }) => name === named.name) ?? null;
      return asRequested(named, configured, adHocOwnerId);
    }),
  ];
}

function limitsOf({ id, limits }: FakeOwner): AppliedLimit[] {
  return limits.map(({ name, limit, durationMs, async }) => ({ name, limit, durationMs, async, cost: 1, ownerId: id }));
}

function isAutomatic({ limits }: FakeOwner): (limit: AppliedLimit) => boolean {
  return ({ name }) => limits.find((limit) => limit.name === name)?.autoApply !== false;
}

/** A strict limit that is not configured with this duration has a counter of its own, also when it is configured later. */
export function limitCharge(
  ledger: FakeLedger,
  { ownerId, cost, ...limit }: AppliedLimit,
  owners: readonly FakeOwner[],
): Charge {
  const name = limitAccount(ownerId, limit);
  const configured = owners.filter(({ id }) => id === ownerId).flatMap(({ limits }) => limits);
  const isConfigured = limit.async || configured.some((each) => limitAccount(ownerId, each) === name);
  const account = ledger.account(isConfigured ? name : `ad-hoc ${name}`, 'window');
  const rule = { kind: 'window', limit: limit.limit, durationMs: limit.durationMs } as const;
  return { account, amount: cost, rule, revision: 0 };
}

/** `ratelimit` is the cost of the limit named `default`. */
function requestedLimits({ ratelimit, ratelimits = [] }: VerifyRequest): readonly RequestedRatelimit[] {
  const names = ratelimits.map(({ name }) => name);
  const doubled = names.find((name, i) => names.indexOf(name) !== i);
  if (doubled !== undefined) throw new AppError('BAD_REQUEST', `the limit ${JSON.stringify(doubled)} is named twice`);
  if (ratelimit?.cost === undefined || names.includes(DEFAULT_LIMIT_NAME)) return ratelimits;
  return [...ratelimits, { name: DEFAULT_LIMIT_NAME, cost: ratelimit.cost }];
}

function asRequested(
  { name, limit, duration, cost = 1, async }: RequestedRatelimit,
  configured: AppliedLimit | null,
  adHocOwnerId: string,
): AppliedLimit {
  if (configured !== null && async !== undefined)
    throw new AppError('BAD_REQUEST', `The limit ${JSON.stringify(name)} is configured: leave async out.`);
  if (limit !== undefined && duration !== undefined)
    return {
      name,
      limit,
      durationMs: duration,
      async: configured?.async ?? async ?? true,
      cost,
      ownerId: adHocOwnerId,
    };
  if (configured === null)
    throw new AppError('BAD_REQUEST', `Neither the key nor its customer has a limit named ${JSON.stringify(name)}.`);
  return withNumbers(configured, { name, limit, duration, cost });
}

function withNumbers(configured: AppliedLimit, { name, limit, duration, cost = 1, async }: RequestedRatelimit) {
  if (async !== undefined)
    throw new AppError('BAD_REQUEST', `The limit ${JSON.stringify(name)} is configured: leave async out.`);
  return { ...configured, limit: limit ?? configured.limit, durationMs: duration ?? configured.durationMs, cost };
}
