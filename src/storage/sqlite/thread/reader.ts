import type { Database } from 'bun:sqlite';

import { StorageDamaged, StorageUnavailable } from '../../port/storage.ts';
import { FORMER_KEY_SELECT, IS_LIVE, KEY_SELECT } from '../../sql/query/queries.ts';
import type { KeyRow } from '../../sql/keys/keyRows.ts';
import type { SqlReader, Statement } from '../../sql/query/statement.ts';
import type { Damage } from '../file/damage.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import type { SqliteThread } from './threadClient.ts';

/** A few rows are read here, on an open read connection; what may take long, in the reader thread. */
export class SqliteReader implements SqlReader {
  readonly #db: Database;
  readonly #reader: () => Promise<SqliteThread>;
  readonly #damage: Damage;
  readonly #byDigest;
  readonly #byFormerDigest;

  constructor(db: Database, reader: () => Promise<SqliteThread>, damage: Damage) {
    this.#db = db;
    this.#reader = reader;
    this.#damage = damage;
    this.#byDigest = db.query(`${KEY_SELECT} WHERE k.secret_digest = $1 AND ${IS_LIVE}`);
    this.#byFormerDigest = db.query(`${FORMER_KEY_SELECT} WHERE f.digest = $1 AND ${IS_LIVE}`);
  }

  async findKeys(digests: readonly string[]): Promise<readonly KeyRow[]> {
    return digests.flatMap((digest) => {
      const row = (this.#byDigest.get(digest) ?? this.#byFormerDigest.get(digest)) as KeyRow | null;
      return row ?? [];
    });
  }

  async find<T>({ sql, params }: Statement): Promise<T[]> {
    return this.#db.query(sql).all(...params) as T[];
  }

  async scan<T>(statement: Statement): Promise<T[]> {
    try {
      return (await (await this.#reader()).call('query', statement)) as T[];
    } catch (error) {
      const failure = this.#damage.noteRead(error, statement.sql);
      if (failure instanceof StorageDamaged) throw failure;
      throw new StorageUnavailable(`The listing could not be read (${toWriteFailure(error).message}).`);
    }
  }
}
