import { asUnavailable } from '../connection/databaseError.ts';
import type { Pool } from '../connection/pool.ts';
import type { KeyRow } from '../../sql/keyRows.ts';
import { FORMER_KEY_SELECT, IS_LIVE, KEY_SELECT } from '../../sql/query/queries.ts';
import type { SqlReader, Statement } from '../../sql/query/statement.ts';

/** Always reads from the server that takes writes: a standby may lag behind what was answered. */
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

/** The type of a row that the driver's types need. */
type Row<T> = T & Record<string, unknown>;

interface Reads {
  /** This read began before the callers of `next` arrived, so it may have missed what they must see. */
  running: Promise<unknown>;
  next: Promise<unknown> | null;
}

/**
 * Callers that ask the same question at the same time share one read, such as many that create keys of one api. A caller that arrives
 * during a read waits for the next read.
 */
export class SharedReads {
  readonly #byName = new Map<string, Reads>();

  read<T>(name: string, ask: () => Promise<T>): Promise<T> {
    const reads = this.#byName.get(name);
    if (reads === undefined) return this.#run(name, ask);
    const again = (): Promise<T> => this.#run(name, ask);
    reads.next ??= reads.running.then(again, again);
    return reads.next as Promise<T>;
  }

  #run<T>(name: string, ask: () => Promise<T>): Promise<T> {
    const running = ask();
    const reads: Reads = { running, next: null };
    this.#byName.set(name, reads);
    const end = (): void => {
      if (reads.next === null) this.#byName.delete(name);
    };
    running.then(end, end);
    return running;
  }
}
