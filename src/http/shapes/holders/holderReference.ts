import type { HolderReference } from '../../../engine/admin/plans/assignPlan.ts';
import { optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { IdentityId, KeyId } from '../schema/idFields.ts';
import { badFields } from '../keys/keyFields.ts';
import { ExternalId } from '../../../model/schema/schemas.ts';

const ONE_OF = 'Give one of `keyId`, `identityId` and `externalId`.';

/** A key or an identity is named by one of these. */
export const HOLDER_REFERENCE = {
  keyId: optional(KeyId, `The id of a key. ${ONE_OF}`),
  identityId: optional(IdentityId, `The id of an identity. ${ONE_OF}`),
  externalId: optional(ExternalId, `Your own id of an identity, 1 to 256 characters. ${ONE_OF}`, EXAMPLE.externalId),
};

export function toHolderReference(body: { keyId?: string; identityId?: string; externalId?: string }): HolderReference {
  const { keyId, identityId, externalId } = body;
  const named: HolderReference[] = [];
  if (keyId !== undefined) named.push({ keyId });
  if (identityId !== undefined) named.push({ id: identityId });
  if (externalId !== undefined) named.push({ externalId });
  const [holder] = named;
  if (holder !== undefined && named.length === 1) return holder;
  throw badFields([{ path: 'keyId', message: 'give one of keyId, identityId and externalId' }]);
}
