import type { ApiRecord } from '../../model/apis.ts';
import type { IdentityRecord } from '../../model/identities.ts';
import { findAny } from './query/findAny.ts';
import { type RecordRow, toApi, toIdentity } from './query/recordRows.ts';
import type { SqlReader } from './query/statement.ts';

/** What many new keys name, read at once. */

export async function findApis(reader: SqlReader, apiIds: readonly string[]): Promise<ApiRecord[]> {
  const rows = await findAny<RecordRow>(reader, { select: 'SELECT * FROM apis', column: 'id' }, apiIds);
  return rows.map(toApi).filter(({ deletedAtMs }) => deletedAtMs === null);
}

export async function findIdentities(reader: SqlReader, externalIds: readonly string[]): Promise<IdentityRecord[]> {
  const named = { select: 'SELECT * FROM identities', column: 'external_id' };
  return (await findAny<RecordRow>(reader, named, externalIds)).map(toIdentity);
}
