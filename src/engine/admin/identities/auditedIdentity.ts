import type { IdentityRecord } from '../../../model/identities.ts';
import { auditedCounters } from '../keys/auditedKey.ts';

/** An identity as the audit log shows it. */
export function auditedIdentity(identity: IdentityRecord): Record<string, unknown> {
  const { externalId, name, meta, enabled, maxKeys, alerts } = identity;
  return {
    externalId,
    name,
    meta: meta === null ? {} : (JSON.parse(meta) as object),
    enabled,
    maxKeys,
    alerts,
    ...auditedCounters(identity),
  };
}
