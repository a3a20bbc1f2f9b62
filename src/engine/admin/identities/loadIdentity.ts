import { notFound } from '../../../core/errors.ts';
import type { IdentityRecord } from '../../../core/records.ts';
import type { Operation } from '../../../core/rights.ts';
import type { Records } from '../../../storage/port/records.ts';
import type { Actor } from '../change/actor.ts';
import { requireOn } from '../change/requireRight.ts';

export type IdentityReference = { readonly id: string } | { readonly externalId: string };

/** An identity that the actor may use in this way. */
export async function loadIdentity(
  records: Records,
  actor: Actor,
  operation: Operation,
  reference: IdentityReference,
): Promise<IdentityRecord> {
  const asked = 'id' in reference ? reference.id : null;
  const found = await ('id' in reference
    ? records.findIdentityById(reference.id)
    : records.findIdentity(reference.externalId));
  const what = asked === null ? 'identity with this externalId' : 'identity';
  requireOn(actor, operation, found?.id ?? '', what, asked);
  if (found === null) throw notFound(what, asked);
  return found;
}
