import { IDENTITY_PLAIN, type IdentityRecord } from '../../../model/identities.ts';
import { auditPlain } from '../../../model/plain.ts';
import { auditedCounters } from '../keys/auditedKey.ts';

/** An identity as the audit log shows it. */
export function auditedIdentity(identity: IdentityRecord): Record<string, unknown> {
  const { externalId, maxKeys, alerts } = identity;
  return {
    externalId,
    ...auditPlain(IDENTITY_PLAIN, identity),
    maxKeys,
    alerts,
    ...auditedCounters(identity),
  };
}
