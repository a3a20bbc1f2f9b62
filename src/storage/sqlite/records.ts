import type { Database } from 'bun:sqlite';

import type { ApiRecord, IdentityRecord, RootKeyRecord } from '../../core/records.ts';
import {
  type ApiQuery,
  type KeyQuery,
  type KeyWithIdentity,
  type Page,
  type PoisonedKey,
  type Records,
  StorageUnavailable,
} from '../port.ts';
import { toWriteFailure } from './failure.ts';
import {
  type ApiRow,
  type IdentityRow,
  type KeyRow,
  type RootKeyRow,
  toApi,
  toIdentity,
  toKeyWithIdentity,
  toRootKey,
} from '../sql/rows.ts';
import { FIND_API, FIND_IDENTITY, FIND_KEY, FIND_ROOT_KEY, KEY_SELECT, LIST_ROOT_KEYS } from '../sql/statements.ts';
import type { SqliteThread } from './threadClient.ts';

/** Point reads happen here, on an open read connection; listings in the reader thread. */
export class SqliteRecords implements Records {
  readonly #db: Database;
  readonly #reader: () => Promise<SqliteThread>;
  readonly #byDigest;
  readonly #byId;

  constructor(db: Database, reader: () => Promise<SqliteThread>) {
    this.#db = db;
    this.#reader = reader;
    this.#byDigest = db.query(`${KEY_SELECT} WHERE k.secret_digest = $1 AND k.deleted_at_ms IS NULL`);
    this.#byId = db.query(FIND_KEY);
  }

  async findKeysByDigest(digests: readonly string[]): Promise<readonly (KeyWithIdentity | PoisonedKey | null)[]> {
    return digests.map((digest) => toFound(this.#byDigest.get(digest)));
  }

  async findKey(keyId: string): Promise<KeyWithIdentity | PoisonedKey | null> {
    return toFound(this.#byId.get(keyId));
  }

  async findApi(apiId: string): Promise<ApiRecord | null> {
    const row = this.#db.query(FIND_API).get(apiId) as ApiRow | null;
    return row === null ? null : toApi(row);
  }

  async findIdentity(externalId: string): Promise<IdentityRecord | null> {
    const row = this.#db.query(FIND_IDENTITY).get(externalId) as IdentityRow | null;
    return row === null ? null : toIdentity(row);
  }

  async findRootKeyByDigest(digest: string): Promise<RootKeyRecord | null> {
    const row = this.#db.query(FIND_ROOT_KEY).get(digest) as RootKeyRow | null;
    return row === null ? null : toRootKey(row);
  }

  async listRootKeys(): Promise<readonly RootKeyRecord[]> {
    return (this.#db.query(LIST_ROOT_KEYS).all() as RootKeyRow[]).map(toRootKey);
  }

  async listKeys(query: KeyQuery): Promise<Page<KeyWithIdentity | PoisonedKey>> {
    const page = await this.#list(async (reader) => reader.call('listKeys', query));
    return { ...page, items: page.items.map(toKeyWithIdentity) };
  }

  async listApis(query: ApiQuery): Promise<Page<ApiRecord>> {
    const page = await this.#list(async (reader) => reader.call('listApis', query));
    return { ...page, items: page.items.map(toApi) };
  }

  async #list<T>(read: (reader: SqliteThread) => Promise<T>): Promise<T> {
    try {
      return await read(await this.#reader());
    } catch (error) {
      throw new StorageUnavailable(`The listing could not be read (${toWriteFailure(error).message}).`);
    }
  }
}

function toFound(row: unknown): KeyWithIdentity | PoisonedKey | null {
  return row === null ? null : toKeyWithIdentity(row as KeyRow);
}
