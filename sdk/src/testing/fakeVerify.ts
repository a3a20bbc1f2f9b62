import { inBlock, parseAddress } from '../../../src/core/address.ts';
import { AppError } from '../../../src/core/errors.ts';
import { type PermissionQuery, satisfies } from '../../../src/core/permissions.ts';
import type { Charge } from '../../../src/core/spend.ts';
import type { VerifyRequest } from '../generated/api.ts';
import type { RefusalCode } from '../verdict.ts';
import { type FakeKey, type FakeLimit, heldBy, planOf } from './fakeKey.ts';
import type { FakeLedger } from './fakeLedger.ts';

interface AppliedLimit extends FakeLimit {
  readonly cost: number;
  readonly account: number;
}

/** A verdict as the service sends it, without its request id. */
export function verifyFake(ledger: FakeLedger, key: FakeKey, request: VerifyRequest, nowMs: number): object {
  checkCosts(request);
  const code = refusedByRecord(key, request, nowMs);
  const applied = code === null ? appliedLimits(ledger, key, request) : [];
  const limitCharges: Charge[] = applied.map(({ account, cost, limit, durationMs }) => ({
    account,
    amount: cost,
    rule: { kind: 'window', limit, durationMs },
    revision: 0,
  }));
  const creditCharge: Charge = {
    account: ledger.account(`credits ${key.keyId}`, 'credits'),
    amount: code === null ? (request.remaining?.cost ?? 1) : 0,
    rule: { kind: 'credits', refill: planOf(key.refill, nowMs) },
    revision: 0,
  };
  const charges = key.hasCredits ? [...limitCharges, creditCharge] : limitCharges;
  const outcome = ledger.spend({ charges, fences: [], idempotency: idempotencyOf(key, request) }, nowMs);
  if (outcome.status === 'conflict')
    throw new AppError('CONFLICT', 'The idempotency key was used with a different request.');
  if (outcome.status !== 'taken' && outcome.status !== 'refused')
    throw new AppError('INTERNAL_SERVER_ERROR', `The fake ledger answered ${outcome.status}.`);
  const refusedBy = outcome.status === 'refused' ? outcome.by : null;
  const refusal = refusedBy === null ? null : refusedBy < limitCharges.length ? 'RATE_LIMITED' : 'USAGE_EXCEEDED';
  const decided = code ?? refusal ?? 'VALID';
  const states = applied.map(({ name, limit, async }, i) => ({
    name,
    limit,
    remaining: outcome.charges[i]?.left ?? 0,
    reset: outcome.charges[i]?.resetAtMs ?? 0,
    async,
    exceeded: refusedBy === i,
  }));
  return {
    valid: decided === 'VALID',
    code: decided,
    ...keyFields(key),
    ...(key.hasCredits ? { remaining: outcome.charges[limitCharges.length]?.left } : {}),
    ...(states.length === 0 ? {} : { ratelimits: states }),
  };
}

function refusedByRecord(key: FakeKey, request: VerifyRequest, nowMs: number): RefusalCode | null {
  const permissions = request.authorization?.permissions ?? null;
  if (request.apiId !== undefined && request.apiId !== key.apiId) return 'FORBIDDEN';
  if (!key.enabled) return 'DISABLED';
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

function appliedLimits(ledger: FakeLedger, key: FakeKey, { ratelimits = [] }: VerifyRequest): AppliedLimit[] {
  const named = new Map(ratelimits.map((request) => [request.name, request]));
  const own = key.limits.map((limit) => {
    const request = named.get(limit.name);
    return { ...limit, limit: request?.limit ?? limit.limit, durationMs: request?.duration ?? limit.durationMs };
  });
  const others = [...named.values()].filter(({ name }) => !key.limits.some((limit) => limit.name === name));
  const adHoc = others.map(({ name, limit, duration, async }) => {
    if (limit !== undefined && duration !== undefined)
      return { name, limit, durationMs: duration, async: async ?? true };
    throw new AppError('BAD_REQUEST', `Neither the key nor its identity has a limit named ${JSON.stringify(name)}.`);
  });
  return [...own, ...adHoc].map((limit) => ({
    ...limit,
    cost: named.get(limit.name)?.cost ?? 1,
    account: ledger.account(`limit ${key.keyId} ${limit.durationMs} ${limit.name}`, 'window'),
  }));
}

function checkCosts({ remaining, ratelimits = [] }: VerifyRequest): void {
  const costs = [remaining?.cost, ...ratelimits.map(({ cost }) => cost)];
  for (const cost of costs)
    if (cost !== undefined && !(Number.isSafeInteger(cost) && cost >= 0))
      throw new AppError('BAD_REQUEST', `cost must be a whole number from 0 on, got ${cost}.`);
}

function idempotencyOf({ keyId }: FakeKey, { idempotencyKey, ...request }: VerifyRequest) {
  return idempotencyKey === undefined
    ? null
    : { scope: keyId, id: idempotencyKey, requestDigest: JSON.stringify(request) };
}

function keyFields({ keyId, name, externalId, meta, expires, enabled, environment, permissions, roles }: FakeKey) {
  return {
    keyId,
    ...(name === undefined ? {} : { name }),
    ...(externalId === undefined
      ? {}
      : { ownerId: externalId, identity: { id: `id_${externalId}`, externalId, meta: {} } }),
    meta,
    ...(expires === undefined ? {} : { expires }),
    enabled,
    ...(environment === undefined ? {} : { environment }),
    permissions,
    roles,
  };
}
