import { notFound } from '../../../core/errors.ts';
import type { IdentityRecord } from '../../../model/identities.ts';
import type { Operation } from '../../../core/rights.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { readMoved } from '../../planOf.ts';
import { requireOn } from '../change/requireRight.ts';

export type IdentityReference = { readonly id: string } | { readonly externalId: string };

/** An identity that the actor may use in this way, on the plan that it is to have by now. */
export async function loadIdentity(
  context: Pick<AdminContext, 'storage' | 'settle'>,
  actor: Actor,
  operation: Operation,
  reference: IdentityReference,
): Promise<IdentityRecord> {
  const asked = 'id' in reference ? reference.id : null;
  const what = asked === null ? 'identity with this externalId' : 'identity';
  const { records } = context.storage;
  const read = async (): Promise<IdentityRecord> => {
    const found = await ('id' in reference
      ? records.findIdentityById(reference.id)
      : records.findIdentity(reference.externalId));
    requireOn(actor, operation, found?.id ?? '', what, asked);
    if (found === null) throw notFound(what, asked);
    return found;
  };
  return readMoved(context, read, (identity) => [identity]);
}
