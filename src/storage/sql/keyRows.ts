import { IDENTITIES, type IdentityRecord } from '../../model/identities.ts';
import { type KeyRecord, KEYS } from '../../model/keys.ts';
import { rowReader } from '../../model/columns.ts';
import type { PoisonedKey } from '../port/records.ts';
import { IDENTITY_PREFIX } from './query/queries.ts';

/** A row of the keys table, joined with its identity: the columns that are read before the row is known to be readable. */
export interface KeyRow {
  id: string;
  api_id: string;
  secret_digest: string;
  generation: number;
  revision: number;
  /** null: the key has no identity, or the identity no longer exists. */
  i_id: string | null;
  secret_until_ms: number | null;
  /** The digest that was asked for, if it belongs to a former secret. */
  asked_digest?: string;
}

const readKey = rowReader(KEYS);
const readJoinedIdentity = rowReader(IDENTITIES, IDENTITY_PREFIX);

/** A key with its identity. Its roles and permissions are read separately. */
export interface ReadKey {
  readonly key: KeyRecord;
  readonly identity: IdentityRecord | null;
  readonly secretUntilMs: number | null;
}

/** A row that cannot be read affects only its own key, and the error names the key's id. */
export function toReadKey(row: KeyRow): ReadKey | PoisonedKey {
  try {
    return {
      key: readKey(row),
      identity: row.i_id === null ? null : readJoinedIdentity(row),
      secretUntilMs: row.secret_until_ms,
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const { api_id: apiId, secret_digest: secretDigest, generation, revision } = row;
    return { poisoned: row.id, apiId, secretDigest, generation, revision, reason };
  }
}
