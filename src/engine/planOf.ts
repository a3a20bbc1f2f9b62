import { isMoveDue } from '../core/plan.ts';
import type { OnPlan } from '../core/records.ts';
import type { IdentityRecord } from '../model/identities.ts';
import type { KeyRecord } from '../model/keys.ts';
import type { PlanRecord } from '../model/plans.ts';
import type { Records } from '../storage/port/records.ts';
import type { Ledger } from '../storage/port/storage.ts';

/** What can be on a plan: an identity, or a key without one. */
export type PlanHolder =
  | { readonly kind: 'identity'; readonly record: IdentityRecord }
  | { readonly kind: 'key'; readonly record: KeyRecord };

/** By the id of an identity or a key. A key that cannot be read holds nothing. */
export async function findHolder(
  records: Pick<Records, 'findIdentityById' | 'findAnyKey'>,
  id: string,
): Promise<PlanHolder | null> {
  if (id.startsWith('key_')) {
    const found = await records.findAnyKey(id);
    return found === null || 'poisoned' in found ? null : { kind: 'key', record: found.key };
  }
  const record = await records.findIdentityById(id);
  return record === null ? null : { kind: 'identity', record };
}

/** The plan that a holder is on; null = none. */
export async function planOf(
  records: Pick<Records, 'findPlan'>,
  { planId }: Pick<OnPlan, 'planId'>,
): Promise<PlanRecord | null> {
  return planId === null ? null : records.findPlan(planId);
}

/** The plans of many holders, by their ids, in one read. */
export async function plansOf(
  records: Pick<Records, 'findPlans'>,
  holders: readonly Pick<OnPlan, 'planId'>[],
): Promise<ReadonlyMap<string, PlanRecord>> {
  const ids = new Set(holders.flatMap(({ planId }) => planId ?? []));
  const found = ids.size === 0 ? [] : await records.findPlans([...ids]);
  return new Map(found.map(({ plan }) => [plan.id, plan]));
}

/** Applies all that is due to the credits of a holder, a move to another plan among it. */
export interface SettlesCredits {
  settle(holderId: string): Promise<boolean>;
}

interface ReadContext {
  readonly storage: { readonly ledger: Pick<Ledger, 'nowMs'> };
  readonly dueCredits: SettlesCredits;
}

/** Reads holders, settles those whose move is due, and reads again if there were any. */
export async function readMoved<T>(
  { storage, dueCredits }: ReadContext,
  read: () => Promise<T>,
  holdersOf: (found: T) => readonly (OnPlan & { readonly id: string })[],
): Promise<T> {
  const found = await read();
  const due = holdersOf(found).filter((holder) => isMoveDue(holder, storage.ledger.nowMs()));
  if (due.length === 0) return found;
  await Promise.all(due.map(({ id }) => dueCredits.settle(id)));
  return read();
}
