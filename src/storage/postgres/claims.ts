import type { Spend } from '../../core/spend.ts';
import type { Change } from '../port.ts';
import type { RecordWrite } from '../recordsPort.ts';

/** What nobody else may use meanwhile: accounts by number; an idempotency key and records by name. */
export type Claim = number | string;

export function claimsOfSpend({ legs, idempotency }: Spend): Claim[] {
  const claims: Claim[] = [];
  for (const { account } of legs) claims.push(account);
  if (idempotency !== null) claims.push(`${idempotency.scope}\0${idempotency.id}`);
  return claims;
}

export function claimsOfChange({ accounts, writes }: Change): Claim[] {
  return [...accounts.map(({ account }) => account), ...writes.flatMap(recordNames)];
}

/** What a write claims; what has no revision and no account is left to the database. */
function recordNames(write: RecordWrite): string[] {
  switch (write.kind) {
    case 'insertApi':
    case 'updateApi':
      return [`api ${write.api.id}`];
    case 'insertIdentity':
    case 'updateIdentity':
      return [`identity ${write.identity.externalId}`];
    case 'insertKey':
    case 'updateKey':
    case 'removeKey':
      return [`key ${write.key.id}`];
    case 'retireKeys':
    case 'removeKeys':
      return write.keys.map(({ id }) => `key ${id}`);
    case 'insertRootKey':
      return [`root key ${write.rootKey.id}`];
    case 'rotateRootKey':
    case 'revokeRootKey':
      return [`root key ${write.rootKeyId}`];
    default:
      return [];
  }
}
