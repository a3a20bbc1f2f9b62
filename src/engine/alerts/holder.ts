import { creditsBelowOf } from '../../core/alerts.ts';
import { heldCredits } from '../../core/plan.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { Records } from '../../storage/port/records.ts';
import { planOf } from '../planOf.ts';

/** A key or identity that has a balance. What is metered has none. */
export interface CreditHolder {
  readonly credits: HeldCredits;
  readonly revision: number;
  /** The threshold of `credits.low`; null = none. */
  readonly creditsBelow: number | null;
  /** The records that an event about its credits names. */
  readonly ids: Readonly<Record<string, string>>;
}

/** null: it was deleted, or has no credits any more. */
export function findCreditHolder(records: Records, owner: string): Promise<CreditHolder | null> {
  return owner.startsWith('key_') ? findKeyHolder(records, owner) : findIdentityHolder(records, owner);
}

async function findKeyHolder(records: Records, keyId: string): Promise<CreditHolder | null> {
  const found = await records.findKey(keyId);
  if (found === null || 'poisoned' in found || found.key.credits === null || found.key.credits.metered) return null;
  const { apiId, planId, revision, alerts } = found.key;
  const plan = await planOf(records, found.key);
  const credits = heldCredits(found.key.credits, plan) as HeldCredits;
  const externalId = found.identity?.externalId ?? null;
  const ids = { keyId, apiId, ...(externalId === null ? {} : { externalId }), ...(planId === null ? {} : { planId }) };
  return { credits, revision, creditsBelow: creditsBelowOf(alerts, plan), ids };
}

async function findIdentityHolder(records: Records, identityId: string): Promise<CreditHolder | null> {
  const found = await records.findIdentityById(identityId);
  if (found === null || found.credits === null || found.credits.metered) return null;
  const { externalId, planId, revision, alerts } = found;
  const plan = await planOf(records, found);
  const credits = heldCredits(found.credits, plan) as HeldCredits;
  const ids = { identityId, externalId, ...(planId === null ? {} : { planId }) };
  return { credits, revision, creditsBelow: creditsBelowOf(alerts, plan), ids };
}
