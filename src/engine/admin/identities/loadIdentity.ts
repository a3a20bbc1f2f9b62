import { notFound } from '../../../core/errors.ts';
import type { IdentityRecord } from '../../../core/records.ts';
import type { Operation } from '../../../core/rights.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { requireOn } from '../change/requireRight.ts';

export type IdentityReference = { readonly id: string } | { readonly externalId: string };

/** An identity that the actor may use in this way, on the plan that it is to have by now. */
export async function loadIdentity(
  { storage, movePlan }: Pick<AdminContext, 'storage' | 'movePlan'>,
  actor: Actor,
  operation: Operation,
  reference: IdentityReference,
): Promise<IdentityRecord> {
  const asked = 'id' in reference ? reference.id : null;
  const { records, ledger } = storage;
  const found = await ('id' in reference
    ? records.findIdentityById(reference.id)
    : records.findIdentity(reference.externalId));
  const what = asked === null ? 'identity with this externalId' : 'identity';
  requireOn(actor, operation, found?.id ?? '', what, asked);
  if (found === null) throw notFound(what, asked);
  if (found.planMove === null || ledger.nowMs() < found.planMove.atMs) return found;
  await movePlan(found.id);
  const moved = await records.findIdentityById(found.id);
  if (moved === null) throw notFound(what, asked);
  return moved;
}
