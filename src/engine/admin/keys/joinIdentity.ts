import { AppError, repeatable } from '../../../core/errors.ts';
import { heldMaxKeys } from '../../../core/plan.ts';
import type { IdentityRecord } from '../../../model/identities.ts';
import type { Records } from '../../../storage/port/records.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';
import type { Draft } from '../change/draft.ts';
import { planOf } from '../../planOf.ts';

/**
 * After a key of this identity was drafted: refuses it when the identity has as many keys as it may have. The change does so again when it
 * is carried out, because other keys may join at the same time.
 */
export async function joinIdentity(records: Records, draft: Draft, identity: IdentityRecord): Promise<void> {
  const { id } = identity;
  const maxKeys = heldMaxKeys(identity, await planOf(records, identity));
  if (maxKeys !== null) await requireSpace(records, draft, identity, maxKeys);
  // Nobody else knows an identity that this change creates.
  const isNew = draft.writes.some((write) => write.kind === 'insertIdentity' && write.identity.id === id);
  if (!isNew) draft.writes.push(joinOf(identity, maxKeys));
}

/** `maxKeys`: its own bound or that of its plan. */
export function joinOf({ id, revision: expect }: IdentityRecord, maxKeys: number | null): RecordWrite {
  return { kind: 'joinIdentity', identityId: id, expect, maxKeys };
}

async function requireSpace(
  records: Records,
  { writes }: Draft,
  identity: IdentityRecord,
  maxKeys: number,
): Promise<void> {
  const { id } = identity;
  const [count = 0] = await records.countKeysOfIdentities([id]);
  const drafted = writes.filter(
    (write) => (write.kind === 'insertKey' || write.kind === 'updateKey') && write.key.identityId === id,
  );
  if (count + drafted.length <= maxKeys) return;
  throw tooManyKeys(identity, { maxKeys, count, more: drafted.length });
}

export function tooManyKeys(
  { externalId }: IdentityRecord,
  { maxKeys, count, more }: { maxKeys: number; count: number; more: number },
): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    `The identity ${repeatable(externalId)} already has ${count} of ${maxKeys} keys; ${more} more would be too many. Delete keys that are not used, or raise maxKeys.`,
  );
}
