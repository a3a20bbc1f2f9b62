import { Database, type SQLQueryBindings } from 'bun:sqlite';

import { StorageDamaged, StorageUnavailable } from '../../port/storage.ts';
import type { KeyRow } from '../../sql/keyRows.ts';
import { FORMER_KEY_SELECT, IS_LIVE, KEY_SELECT } from '../../sql/query/queries.ts';
import type { SqlReader, SqlWriter, Statement, WriteStatement } from '../../sql/query/statement.ts';
import type { Damage } from '../file/damage.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import type { SqliteThread } from './threadClient.ts';

/** Writes through the writer thread, between the commits of the ledger. */
export class SqliteWriter implements SqlWriter {
  readonly #writer: SqliteThread;
  /** The statements of the next shared transaction. */
  readonly #shared: WriteStatement[] = [];
  #lastShared: Promise<readonly number[] | null> = Promise.resolve(null);

  constructor(writer: SqliteThread) {
    this.#writer = writer;
  }

  async write(statements: readonly WriteStatement[]): Promise<readonly number[] | null> {
    try {
      return await this.#writer.call('write', statements);
    } catch (error) {
      const failure = toWriteFailure(error);
      if (failure.kind === 'refused') return null;
      throw new StorageUnavailable(`The database could not be written (${failure.message}).`);
    }
  }

  /** Each transaction is flushed, and spends wait meanwhile. So statements that arrive during one share the next one. */
  async share(statement: WriteStatement): Promise<number> {
    const place = this.#shared.push(statement) - 1;
    if (place === 0) {
      const next = (): Promise<readonly number[] | null> => this.write(this.#shared.splice(0));
      this.#lastShared = this.#lastShared.then(next, next);
    }
    return (await this.#lastShared)?.[place] ?? 0;
  }
}

/** Reads a few rows here, on an open connection; reads that may take long run in the reader thread. */
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

const READS = ['get', 'all', 'values'] as const;

/** The connection that reads for requests. A damaged page is remembered, and its read fails with `StorageDamaged`. */
export class ReadConnection extends Database {
  /** null: the service is starting, and a failure ends the start. */
  #damage: Damage | null = null;
  readonly #watched = new WeakSet<object>();

  /** Called when requests begin to read. */
  watch(damage: Damage): void {
    this.#damage = damage;
  }

  override query<R, P extends SQLQueryBindings | SQLQueryBindings[]>(sql: string) {
    const statement = super.query<R, P>(sql);
    // Statements with the same text are prepared once.
    if (!this.#watched.has(statement)) this.#watch(statement, sql);
    return statement;
  }

  #watch(statement: object, sql: string): void {
    this.#watched.add(statement);
    const reads = statement as Record<(typeof READS)[number], (...params: unknown[]) => unknown>;
    for (const name of READS) {
      const read = reads[name].bind(statement);
      reads[name] = (...params) => {
        try {
          return read(...params);
        } catch (error) {
          throw this.#damage?.noteRead(error, sql) ?? error;
        }
      };
    }
  }
}
