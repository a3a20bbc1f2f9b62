import { DEFAULT_LIMIT_NAME, type KeyRecord, type LimitRecord, type RefillRule } from '../../core/records.ts';

/** A key as the audit log tells of it: everything but its secret and its counters, which move without a change. */
export function keyFacts(key: KeyRecord): Record<string, unknown> {
  return {
    apiId: key.apiId,
    start: key.start,
    name: key.name,
    identityId: key.identityId,
    meta: key.meta === null ? {} : (JSON.parse(key.meta) as object),
    environment: key.environment,
    enabled: key.enabled,
    expires: key.expiresAtMs,
    ...counterFacts(key),
    ipAllowlist: key.ipAllowlist,
    roleIds: key.roleIds,
    permissionIds: key.permissionIds,
    deletedAt: key.deletedAtMs,
  };
}

/** The rules of counters; of the credits whether there are any. */
export function counterFacts({ credits, limits }: Pick<KeyRecord, 'credits' | 'limits'>): Record<string, unknown> {
  const main = limits.find(({ name }) => name === DEFAULT_LIMIT_NAME);
  const others = limits.filter((limit) => limit !== main);
  return {
    isCounted: credits !== null,
    refill: credits?.refill == null ? null : refillFacts(credits.refill),
    ratelimit: main === undefined ? null : limitFacts(main),
    ratelimits: others.map((limit) => ({ name: limit.name, ...limitFacts(limit) })),
  };
}

function refillFacts({ interval, amount, refillDay, timezone, mode, max }: RefillRule): object {
  return { interval, amount, refillDay, timezone, mode, max };
}

function limitFacts({ limit, durationMs, async }: LimitRecord): { limit: number; duration: number; async: boolean } {
  return { limit, duration: durationMs, async };
}
