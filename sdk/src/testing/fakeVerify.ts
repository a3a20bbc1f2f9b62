import { inBlock, parseAddress } from '../../../src/core/address.ts';
import { epochAt } from '../../../src/core/calendar.ts';
import { AppError } from '../../../src/core/errors.ts';
import { type PermissionQuery, satisfies } from '../../../src/core/permissions.ts';
import { DEFAULT_LIMIT_NAME } from '../../../src/core/records.ts';
import type { ChargeResult, IdempotencyKey, SpendOutcome } from '../../../src/core/spend.ts';
import type { NamedRatelimitResult, VerdictCode, VerifyRequest } from '../generated/api.ts';
import type { RefusalCode } from '../verdict.ts';
import { balanceOf, creditCharges } from './fakeCounters.ts';
import type { FakeIdentity } from './fakeIdentities.ts';
import { type FakeKey, heldBy } from './fakeKey.ts';
import type { FakeLedger } from './fakeLedger.ts';
import { type AppliedLimit, appliedLimits, limitCharge } from './fakeLimits.ts';

interface Asked {
  readonly ledger: FakeLedger;
  readonly key: FakeKey;
  readonly identity: FakeIdentity | null;
  readonly request: VerifyRequest;
  readonly nowMs: number;
}

interface Decided {
  readonly code: VerdictCode;
  /** null: no credits. */
  readonly remaining: number | null;
  /** Of the credits that did not suffice, where they have a refill. */
  readonly nextRefillAt?: number;
  readonly limits: readonly NamedRatelimitResult[];
}

/** A verdict as the service sends it, without its request id. */
export function verifyFake(asked: Asked): object {
  checkCosts(asked.request);
  const refusal = refusedByRecord(asked);
  const { code, remaining, nextRefillAt, limits } = refusal === null ? count(asked) : refused(asked, refusal, []);
  const shown = limits.find(({ exceeded }) => exceeded) ?? defaultOf(limits);
  return {
    valid: code === 'VALID',
    code,
    ...keyFields(asked.key, asked.identity),
    ...(remaining === null ? {} : { remaining }),
    ...(nextRefillAt === undefined ? {} : { nextRefillAt }),
    ...(shown === undefined
      ? {}
      : { ratelimit: { limit: shown.limit, remaining: shown.remaining, reset: shown.reset } }),
    ...(limits.length === 0 ? {} : { ratelimits: limits }),
  };
}

/** Of two, the one with less left. */
function defaultOf(limits: Decided['limits']): NamedRatelimitResult | undefined {
  const [shown] = limits
    .filter(({ name }) => name === DEFAULT_LIMIT_NAME)
    .toSorted((a, b) => a.remaining - b.remaining);
  return shown;
}

function refusedByRecord({ key, identity, request, nowMs }: Asked): RefusalCode | null {
  const permissions = request.authorization?.permissions ?? null;
  if (request.apiId !== undefined && request.apiId !== key.apiId) return 'FORBIDDEN';
  if (!key.enabled || identity?.enabled === false) return 'DISABLED';
  if (nowMs >= (key.expires ?? Infinity)) return 'EXPIRED';
  if (!isAllowedFrom(key, request.clientIp)) return 'FORBIDDEN';
  if (permissions !== null && !satisfies(heldBy(key), permissions as PermissionQuery))
    return 'INSUFFICIENT_PERMISSIONS';
  return null;
}

function isAllowedFrom({ blocks }: FakeKey, clientIp: string | undefined): boolean {
  if (blocks.length === 0) return true;
  const address = clientIp === undefined ? null : parseAddress(clientIp);
  return address !== null && blocks.some((block) => inBlock(address, block));
}

/** Local limits first. When they allow the request, strict limits and credits are taken together or not at all. */
function count(asked: Asked): Decided {
  const { ledger, key, identity, request, nowMs } = asked;
  const owners = identity === null ? [key] : [key, identity];
  const limits = appliedLimits(key, identity, request);
  const local = limits.filter(({ async }) => async);
  const strict = limits.filter(({ async }) => !async);
  const localCharges = local.map((limit) => limitCharge(ledger, limit, owners));
  const cost = request.remaining?.cost ?? 1;
  const credited = owners.filter(({ credits }) => credits !== null);
  const exact = [
    ...strict.map((limit) => limitCharge(ledger, limit, owners)),
    ...credited.flatMap((owner) => creditCharges(ledger, owner, cost, nowMs)),
  ];
  const idempotency = exact.length === 0 ? null : idempotencyOf(key, request);
  const conclude = (outcome: SpendOutcome): Decided => {
    const { charges: all, by } = answered(outcome);
    // An earlier answer of other counters says nothing about those that the key has now.
    const charges = all.length === exact.length ? all : [];
    const code = by < 0 ? 'VALID' : by < strict.length ? 'RATE_LIMITED' : 'USAGE_EXCEEDED';
    const states = limits.flatMap((limit) => {
      if (limit.async) return stateOf(asked, limit, ledger.look(limitCharge(ledger, limit, owners), nowMs), false);
      const result = charges[strict.indexOf(limit)];
      return result === undefined ? [] : stateOf(asked, limit, result, strict.indexOf(limit) === by);
    });
    const left = charges
      .slice(strict.length)
      .flatMap((charge, i) => (credited[i]?.credits?.metered ? [] : charge.left));
    const refusing = code === 'USAGE_EXCEEDED' ? credited[by - strict.length] : undefined;
    const next = refusing?.credits?.refill ? { nextRefillAt: epochAt(refusing.credits.refill, nowMs).nextMs } : {};
    return { code, remaining: left.length === 0 ? null : Math.min(...left), ...next, limits: states };
  };
  const refusing = localCharges.findIndex((charge) => !ledger.look(charge, nowMs).allows);
  if (refusing >= 0) {
    // A retry of a charged request gets its earlier answer, although the local limit is used up by now.
    const earlier = idempotency === null ? null : ledger.earlierAnswer(idempotency, nowMs);
    if (earlier !== null) return conclude(earlier);
    const states = local.map((limit, i) => {
      return stateOf(asked, limit, ledger.look(limitCharge(ledger, limit, owners), nowMs), i === refusing);
    });
    return refused(asked, 'RATE_LIMITED', states);
  }
  const outcome = ledger.spend(exact, idempotency, nowMs);
  if (outcome.status === 'taken' && !outcome.replayed) ledger.spend(localCharges, null, nowMs);
  return conclude(outcome);
}

/** A refusal that takes nothing. It shows the balance. */
function refused({ ledger, key, identity, nowMs }: Asked, code: RefusalCode, limits: Decided['limits']): Decided {
  const owners = identity === null ? [key] : [key, identity];
  const balances = owners.map((owner) => balanceOf(ledger, owner, nowMs)).filter((balance) => balance !== null);
  return { code, remaining: balances.length === 0 ? null : Math.min(...balances), limits };
}

/** `by`: the charge that refused; -1 = none. */
function answered(outcome: SpendOutcome): { readonly charges: readonly ChargeResult[]; readonly by: number } {
  switch (outcome.status) {
    case 'taken':
      return { charges: outcome.charges, by: -1 };
    case 'refused':
      return outcome;
    case 'conflict':
      throw new AppError('CONFLICT', 'This idempotency key was used with a different request. Use a new one.');
    case 'tooManyLive':
      throw new AppError('RATE_LIMITED', 'This key has too many live idempotency keys; wait until some expire.');
    default:
      throw new AppError('INTERNAL_SERVER_ERROR', `The fake ledger answered ${outcome.status}.`);
  }
}

function stateOf(
  { identity }: Asked,
  { name, limit, durationMs: duration, async, ownerId }: AppliedLimit,
  result: ChargeResult,
  exceeded: boolean,
): NamedRatelimitResult {
  const shared = ownerId === identity?.id ? { shared: true } : {};
  return { name, limit, duration, remaining: result.left, reset: result.resetAtMs, async, exceeded, ...shared };
}

function checkCosts({ remaining, ratelimit, ratelimits = [] }: VerifyRequest): void {
  const costs = [remaining?.cost, ratelimit?.cost, ...ratelimits.map(({ cost }) => cost)];
  for (const cost of costs)
    if (cost !== undefined && !(Number.isSafeInteger(cost) && cost >= 0))
      throw new AppError('BAD_REQUEST', `cost must be a whole number from 0 on, got ${cost}.`);
}

/** The secret is left out: a rotated key keeps its remembered answers. */
function idempotencyOf({ id: scope }: FakeKey, request: VerifyRequest): IdempotencyKey | null {
  const { idempotencyKey, key: _key, ...asked } = request;
  return idempotencyKey === undefined ? null : { scope, id: idempotencyKey, requestDigest: canonical(asked) };
}

/** The same request gives the same text, whatever the order of its fields. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

function keyFields(key: FakeKey, identity: FakeIdentity | null) {
  const { id: keyId, name, meta, expires, enabled, environment, permissions, roles } = key;
  return {
    keyId,
    ...(name === undefined ? {} : { name }),
    ...(identity === null
      ? {}
      : {
          ownerId: identity.externalId,
          identity: { id: identity.id, externalId: identity.externalId, meta: identity.meta },
        }),
    meta,
    ...(expires === undefined ? {} : { expires }),
    enabled,
    ...(environment === undefined ? {} : { environment }),
    permissions,
    roles,
  };
}
