import type { FoundRootKey } from '../port/records.ts';
import { FIND_FORMER_ROOT_KEY, FIND_ROOT_KEY } from './query/queries.ts';
import { type RecordRow, toRootKey } from './query/recordRows.ts';
import type { SqlReader } from './query/statement.ts';

/** The root key with this secret, or with this former secret while that is valid. */
export async function findRootKeyByDigest(
  reader: SqlReader,
  digest: string,
  nowMs: number,
): Promise<FoundRootKey | null> {
  const [present] = await reader.find<RecordRow>({ sql: FIND_ROOT_KEY, params: [digest] });
  if (present !== undefined) return { rootKey: toRootKey(present), secretUntilMs: null };
  const [former] = await reader.find<{ secret_until_ms: number }>({
    sql: FIND_FORMER_ROOT_KEY,
    params: [digest, nowMs],
  });
  return former === undefined ? null : { rootKey: toRootKey(former), secretUntilMs: former.secret_until_ms };
}
