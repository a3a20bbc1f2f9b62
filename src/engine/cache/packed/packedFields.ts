import type { KeyWithIdentity } from '../../../storage/port/records.ts';
import type { Sources } from '../cachedEntry.ts';
import { toExtras } from '../makeEntry.ts';
import { countAccounts } from './packedAccounts.ts';
import { flagsOf, HAS_IDENTITY, HAS_PLAN, identityBits, isPackableId } from './rowLayout.ts';
import { isWord } from './packedWords.ts';
import type { SharedRecords } from './sharedRecords.ts';

/** A key as the numbers of a row, beside its digest, its id and its revision. */
interface PackedFields {
  /** With the row of its identity. */
  readonly flags: number;
  /** Numbers among the shared values. */
  readonly api: number;
  readonly limits: number;
  readonly credits: number;
  readonly firstAccount: number;
}

/** null: the key has more data than fits into a row. */
export function packedFields(
  found: KeyWithIdentity,
  { identityRow, planSlot }: Sources,
  shared: SharedRecords,
): PackedFields | null {
  const { key } = found;
  const flags = flagsOf(key);
  // A row without the source that its flags name would be a key that nothing limits.
  if (((flags & HAS_IDENTITY) === 0) !== (identityRow === null)) return null;
  if (((flags & HAS_PLAN) === 0) !== (planSlot === null) || toExtras(found) !== null) return null;
  const accounts = countAccounts(key);
  if (!isPackableId(key.id) || !isWord(key.revision) || accounts === null) return null;
  const api = shared.apis.indexOf(key.apiId, key.apiId);
  const limits = shared.limitsNumber(accounts.limits);
  const credits = shared.creditsNumber(key);
  if (api < 0 || limits < 0 || credits < 0) return null;
  return { flags: flags | identityBits(identityRow), api, limits, credits, firstAccount: accounts.first };
}
