import type { ApiRecord, IdentityRecord, RootKeyRecord } from '../../core/records.ts';
import type { ApiQuery, KeyQuery, KeyWithIdentity, Page, PoisonedKey, Records } from '../port.ts';
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
import {
  apiListing,
  FIND_API,
  FIND_IDENTITY,
  FIND_KEY,
  FIND_ROOT_KEY,
  KEY_SELECT,
  keyListing,
  LIST_ROOT_KEYS,
  type Listing,
  type Params,
  toPage,
} from '../sql/statements.ts';
import { asUnavailable } from './failure.ts';
import type { Pool } from './pool.ts';

/** Always from the server that takes writes: a copy may lag behind what was answered. */
export class PostgresRecords implements Records {
  readonly #pool: Pool;
  readonly #lookups: Pool;

  constructor(pool: Pool, lookups: Pool) {
    this.#pool = pool;
    this.#lookups = lookups;
  }

  async findKeysByDigest(digests: readonly string[]): Promise<readonly (KeyWithIdentity | PoisonedKey | null)[]> {
    const { rows } = await asUnavailable(
      this.#lookups.query<Row<KeyRow>>({
        name: 'keys_by_digest',
        text: `${KEY_SELECT} WHERE k.secret_digest = ANY ($1::text[]) AND k.deleted_at_ms IS NULL`,
        values: [digests],
      }),
    );
    const found = new Map(rows.map((row) => [row.secret_digest, row]));
    return digests.map((digest) => {
      const row = found.get(digest);
      return row === undefined ? null : toKeyWithIdentity(row);
    });
  }

  async findKey(keyId: string): Promise<KeyWithIdentity | PoisonedKey | null> {
    return (await this.#all<KeyRow>(FIND_KEY, [keyId])).map(toKeyWithIdentity)[0] ?? null;
  }

  async findApi(apiId: string): Promise<ApiRecord | null> {
    return (await this.#all<ApiRow>(FIND_API, [apiId])).map(toApi)[0] ?? null;
  }

  async findIdentity(externalId: string): Promise<IdentityRecord | null> {
    return (await this.#all<IdentityRow>(FIND_IDENTITY, [externalId])).map(toIdentity)[0] ?? null;
  }

  async findRootKeyByDigest(digest: string): Promise<RootKeyRecord | null> {
    return (await this.#all<RootKeyRow>(FIND_ROOT_KEY, [digest])).map(toRootKey)[0] ?? null;
  }

  async listRootKeys(): Promise<readonly RootKeyRecord[]> {
    return (await this.#all<RootKeyRow>(LIST_ROOT_KEYS, [])).map(toRootKey);
  }

  async listKeys(query: KeyQuery): Promise<Page<KeyWithIdentity | PoisonedKey>> {
    const page = await this.#list<KeyRow>(keyListing(query), query.limit);
    return { ...page, items: page.items.map(toKeyWithIdentity) };
  }

  async listApis(query: ApiQuery): Promise<Page<ApiRecord>> {
    const page = await this.#list<ApiRow>(apiListing(query), query.limit);
    return { ...page, items: page.items.map(toApi) };
  }

  async #list<T extends { id: string }>({ total, page }: Listing, limit: number): Promise<Page<T>> {
    const [counted] = await this.#all<{ total: number }>(total.sql, total.params);
    return toPage(await this.#all<T>(page.sql, page.params), limit, counted?.total ?? 0);
  }

  async #all<T>(text: string, values: Params): Promise<T[]> {
    return (await asUnavailable(this.#pool.query<Row<T>>({ text, values }))).rows;
  }
}

/** A row as the driver's types want it. */
type Row<T> = T & Record<string, unknown>;
