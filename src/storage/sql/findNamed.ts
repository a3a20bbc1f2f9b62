import type { ApiRecord, IdentityRecord } from '../../core/records.ts';
import { findAny } from './query/findAny.ts';
import { type IdentityRow, toIdentity } from './keys/keyRows.ts';
import { type ApiRow, toApi } from './query/recordRows.ts';
import type { SqlReader } from './query/statement.ts';

/** What many new keys name, read at once. */

export async function findApis(reader: SqlReader, apiIds: readonly string[]): Promise<ApiRecord[]> {
  const rows = await findAny<ApiRow>(reader, { select: 'SELECT * FROM apis', column: 'id' }, apiIds);
  return rows.map(toApi).filter(({ deletedAtMs }) => deletedAtMs === null);
}

export async function findIdentities(reader: SqlReader, externalIds: readonly string[]): Promise<IdentityRecord[]> {
  const named = { select: 'SELECT * FROM identities', column: 'external_id' };
  return (await findAny<IdentityRow>(reader, named, externalIds)).map(toIdentity);
}
