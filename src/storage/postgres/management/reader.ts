import { FORMER_KEY_SELECT, IS_LIVE, KEY_SELECT } from '../../sql/query/queries.ts';
import type { KeyRow } from '../../sql/keys/keyRows.ts';
import type { SqlReader, Statement } from '../../sql/query/statement.ts';
import { asUnavailable } from '../connection/databaseError.ts';
import type { Pool } from '../connection/pool.ts';
import { SharedReads } from './sharedReads.ts';

/** Always from the server that takes writes: a copy may lag behind what was answered. */
export class PostgresReader implements SqlReader {
  readonly #pool: Pool;
  readonly #shared = new SharedReads();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async findKeys(digests: readonly string[]): Promise<readonly KeyRow[]> {
    const found = await this.#byDigest('keys_by_digest', `${KEY_SELECT} WHERE k.secret_digest`, digests);
    if (found.length === digests.length) return found;
    const known = new Set(found.map(({ secret_digest }) => secret_digest));
    const others = digests.filter((digest) => !known.has(digest));
    return [...found, ...(await this.#byDigest('keys_by_former', `${FORMER_KEY_SELECT} WHERE f.digest`, others))];
  }

  /** The number of the last change of any node. */
  async lastChange(): Promise<number> {
    const [row] = await this.find<{ number: number }>({ sql: 'SELECT number FROM change_counter', params: [] });
    return row?.number ?? 0;
  }

  find<T>({ sql, params }: Statement): Promise<T[]> {
    return this.#shared.read(JSON.stringify([sql, params]), () => this.scan<T>({ sql, params }));
  }

  async scan<T>({ sql, params }: Statement): Promise<T[]> {
    return (await asUnavailable(this.#pool.query<Row<T>>({ text: sql, values: params }))).rows;
  }

  async #byDigest(name: string, select: string, digests: readonly string[]): Promise<Row<KeyRow>[]> {
    const text = `${select} = ANY ($1::text[]) AND ${IS_LIVE}`;
    return (await asUnavailable(this.#pool.query<Row<KeyRow>>({ name, text, values: [digests] }))).rows;
  }
}

/** A row as the driver's types want it. */
type Row<T> = T & Record<string, unknown>;
