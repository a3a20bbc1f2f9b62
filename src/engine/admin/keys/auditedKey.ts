import { DEFAULT_LIMIT_NAME, type LimitRecord, type RefillRule } from '../../../core/records.ts';
import type { IdentityRecord } from '../../../model/identities.ts';
import { KEY_PLAIN, type KeyRecord } from '../../../model/keys.ts';
import { auditPlain } from '../../../model/plain.ts';

/**
 * A key as the audit log shows it. Fields have the names of the HTTP API; roles and permissions are ids. The secret is left out, and
 * so are balances, which move without a change.
 */
export function auditedKey(key: KeyRecord, identity: IdentityRecord | null): Record<string, unknown> {
  return {
    apiId: key.apiId,
    start: key.start,
    ...auditPlain(KEY_PLAIN, key),
    ownerId: identity?.externalId ?? null,
    expires: key.expiresAtMs,
    ...auditedCounters(key),
    ipAllowlist: key.ipAllowlist,
    alerts: key.alerts,
    roles: key.roleIds,
    permissions: key.permissionIds,
  };
}

/** What a key belongs to, for the event of a change. */
export function idsAround(key: Pick<KeyRecord, 'apiId'>, identity: IdentityRecord | null): Record<string, string> {
  return { apiId: key.apiId, ...(identity === null ? {} : { externalId: identity.externalId }) };
}

/** The rules of the credits and limits. */
export function auditedCounters({ credits, limits }: Pick<KeyRecord, 'credits' | 'limits'>): Record<string, unknown> {
  const main = limits.find(({ name }) => name === DEFAULT_LIMIT_NAME);
  const others = limits.filter((limit) => limit !== main);
  return {
    ...(credits?.metered ? { metered: true } : {}),
    refill: credits?.refill == null ? null : auditedRefill(credits.refill),
    ratelimit: main === undefined ? null : auditedLimit(main),
    ratelimits: others.map((limit) => ({ name: limit.name, ...auditedLimit(limit) })),
  };
}

function auditedRefill({ interval, amount, refillDay, refillWeekday, timezone, mode, max }: RefillRule): object {
  const weekday = interval === 'weekly' ? { refillWeekday } : {};
  return { interval, amount, refillDay, ...weekday, timezone, mode, max };
}

function auditedLimit({ limit, durationMs, async, autoApply, notify }: LimitRecord): object {
  const options = { ...(autoApply === false ? { autoApply } : {}), ...(notify ? { notify } : {}) };
  return { limit, duration: durationMs, async, ...options };
}
