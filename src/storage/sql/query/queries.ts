import { endOfPrefix, MAX_SEARCH_WORDS, wordsOf } from '../../../core/search.ts';
import { IDENTITIES } from '../../../model/identities.ts';
import { joinedColumns } from '../../../model/columns.ts';
import type { EntryQuery } from '../../port/auditEntries.ts';
import type { ApiQuery, IdentityQuery, KeyQuery, Page, PageQuery } from '../../port/records.ts';
import { IDENTITIES_SCOPE } from './searchIndex.ts';
import { type Params, placeholders, type SqlReader, type Statement } from './statement.ts';

/** The prefix of the identity's columns in a row of a key. */
export const IDENTITY_PREFIX = 'i_';

export const KEY_SELECT = `SELECT k.*, ${joinedColumns(IDENTITIES, 'i', IDENTITY_PREFIX)}, NULL AS secret_until_ms
  FROM keys k LEFT JOIN identities i ON i.id = k.identity_id LEFT JOIN apis a ON a.id = k.api_id`;

/** The same for a former secret, whose row is `f`. */
export const FORMER_KEY_SELECT = KEY_SELECT.replace(
  'NULL AS secret_until_ms',
  'f.until_ms AS secret_until_ms, f.digest AS asked_digest',
).replace('FROM keys k', 'FROM former_secrets f JOIN keys k ON k.id = f.owner');

/** The key is deleted neither by itself nor with all keys of its api. */
export const IS_LIVE = 'k.deleted_at_ms IS NULL AND k.generation = coalesce(a.generation, k.generation)';

export const FIND_KEY = `${KEY_SELECT} WHERE k.id = $1 AND ${IS_LIVE}`;
export const FIND_ANY_KEY = `${KEY_SELECT} WHERE k.id = $1 AND a.deleted_at_ms IS NULL`;
/** Uses the index keys_of_generation. */
export const KEYS_LEFT_BEHIND = `${KEY_SELECT}
  WHERE k.api_id = $1 AND k.deleted_at_ms IS NULL AND k.generation < a.generation ORDER BY k.generation, k.id LIMIT $2`;
export const APIS_WITH_KEYS_LEFT_BEHIND = `SELECT a.id, a.purges_below FROM apis a WHERE a.generation > 0 AND EXISTS (
  SELECT 1 FROM keys k WHERE k.api_id = a.id AND k.deleted_at_ms IS NULL AND k.generation < a.generation)`;
export const COUNT_KEYS = `SELECT count(*) AS total FROM (
  SELECT 1 FROM keys k LEFT JOIN apis a ON a.id = k.api_id WHERE ${IS_LIVE} LIMIT $1) counted`;
export const COUNT_APIS =
  'SELECT count(*) AS total FROM (SELECT 1 FROM apis WHERE deleted_at_ms IS NULL LIMIT $1) counted';
export const COUNT_NAMESPACES = 'SELECT count(*) AS total FROM (SELECT 1 FROM namespaces LIMIT $1) counted';
export const FIND_API = 'SELECT * FROM apis WHERE id = $1 AND deleted_at_ms IS NULL';
export const FIND_IDENTITY = 'SELECT * FROM identities WHERE external_id = $1';
/** The neighbours of a name in the index of names. */
export const IDENTITIES_BEFORE = 'SELECT * FROM identities WHERE external_id < $1 ORDER BY external_id DESC LIMIT $2';
export const IDENTITIES_AFTER = 'SELECT * FROM identities WHERE external_id > $1 ORDER BY external_id LIMIT $2';
export const FIND_IDENTITY_BY_ID = 'SELECT * FROM identities WHERE id = $1';
export const FIND_PLAN = 'SELECT * FROM plans WHERE id = $1';
export const FIND_PLAN_BY_NAME = 'SELECT * FROM plans WHERE name = $1';
export const COUNT_PLANS = 'SELECT count(*) AS total FROM (SELECT 1 FROM plans LIMIT $1) counted';
const ON_PLAN = 'plan_id = $1';
const MOVES_TO_PLAN = "next_plan_id = $1 AND coalesce(plan_id, '') <> $1";
const COUNT_LIVE_KEYS = `SELECT count(*) FROM keys k LEFT JOIN apis a ON a.id = k.api_id WHERE ${IS_LIVE}`;
/** Identities and keys that are on a plan or move to it. Each of the two conditions uses an index of each table. */
export const COUNT_HOLDERS = `SELECT (SELECT count(*) FROM identities WHERE ${ON_PLAN})
  + (SELECT count(*) FROM identities WHERE ${MOVES_TO_PLAN})
  + (${COUNT_LIVE_KEYS} AND ${ON_PLAN}) + (${COUNT_LIVE_KEYS} AND ${MOVES_TO_PLAN}) AS total`;
export const LIST_PERMISSIONS = 'SELECT * FROM permissions ORDER BY name';
export const LIST_ROLES = 'SELECT * FROM roles ORDER BY name';
export const COUNT_PERMISSIONS = 'SELECT count(*) AS total FROM (SELECT 1 FROM permissions LIMIT $1) counted';
export const COUNT_ROLES = 'SELECT count(*) AS total FROM (SELECT 1 FROM roles LIMIT $1) counted';
export const COUNT_WEBHOOKS = 'SELECT count(*) AS total FROM (SELECT 1 FROM webhooks LIMIT $1) counted';
export const COUNT_OVERRIDES =
  'SELECT count(*) AS total FROM (SELECT 1 FROM overrides WHERE namespace_id = $1 LIMIT $2) counted';
export const FIND_NAMESPACE = 'SELECT * FROM namespaces WHERE name = $1';
export const FIND_NAMESPACE_BY_ID = 'SELECT * FROM namespaces WHERE id = $1';
export const FIND_OVERRIDE = 'SELECT * FROM overrides WHERE namespace_id = $1 AND identifier = $2';
export const ALL_OVERRIDES = 'SELECT * FROM overrides WHERE namespace_id = $1 ORDER BY id';
export const FIND_ROOT_KEY = 'SELECT * FROM root_keys WHERE secret_digest = $1';
export const FIND_ROOT_KEY_BY_ID = 'SELECT * FROM root_keys WHERE id = $1';
export const FIND_FORMER_ROOT_KEY =
  'SELECT r.*, f.until_ms AS secret_until_ms FROM former_secrets f JOIN root_keys r ON r.id = f.owner WHERE f.digest = $1 AND f.until_ms > $2';
export const LIST_ROOT_KEYS = 'SELECT * FROM root_keys ORDER BY id';
export const FIND_IMPORT = 'SELECT * FROM imports WHERE id = $1';
export const IMPORT_ERRORS = 'SELECT key_index, message FROM import_errors WHERE import_id = $1 ORDER BY key_index';
export const WAITING_IMPORTS = 'SELECT * FROM import_batches ORDER BY id LIMIT $1';

/** Selects the rows whose column has one of the values. */
function byAny(select: string, column: string, values: readonly string[]): Statement {
  return { sql: `${select} WHERE ${column} IN (${placeholders(values.length)})`, params: [...values] };
}

/** Two statements with the same conditions: the total number of rows, and one page of them. */
export interface Listing {
  readonly total: Statement;
  readonly page: Statement;
}

interface ListingInput extends PageQuery {
  readonly from: string;
  readonly select: string;
  readonly id: string;
  readonly where: string;
  readonly params: Params;
}

/** Pages by id, with the index keys_of_generation or keys_of_owner. A later page costs as much as the first. */
export function keyListing({ apiId, externalId, search, after, limit }: KeyQuery): Listing {
  const params: Params = [apiId];
  const add = (value: string): string => `$${params.push(value)}`;
  let where = `k.deleted_at_ms IS NULL AND k.api_id = $1
    AND k.generation = coalesce((SELECT generation FROM apis WHERE id = $1), 0)`;
  if (externalId !== null) {
    where += ` AND k.identity_id = (SELECT id FROM identities WHERE external_id = ${add(externalId)})`;
  }
  if (search !== null) where += ` AND k.id IN (${searched(search, add)})`;
  return listing({ from: 'keys k', select: KEY_SELECT, id: 'k.id', where, params, after, limit });
}

/** Ids of keys whose `start` begins with the search, and of keys that have a word for each of its words. */
export function searched(search: string, add: AddParameter): string {
  const isAlive = 'api_id = $1 AND deleted_at_ms IS NULL';
  const byStart = `SELECT id FROM keys WHERE ${isAlive} AND ${inRange('start', search, add)}`;
  return withWords(byStart, search, { scope: '$1', add });
}

type AddParameter = (value: string) => string;

/** The ids of a query, and of the records of the scope that have a word for each word of the search. */
function withWords(query: string, search: string, { scope, add }: { scope: string; add: AddParameter }): string {
  const words = wordsOf(search).slice(0, MAX_SEARCH_WORDS);
  if (words.length === 0) return query;
  const byWord = words.map(
    (word) => `SELECT id FROM search_words WHERE scope = ${scope} AND ${inRange('word', word, add)}`,
  );
  return `${query} UNION SELECT id FROM (${byWord.join(' INTERSECT ')}) found`;
}

function inRange(column: string, prefix: string, add: AddParameter): string {
  return `${column} >= ${add(prefix)} AND ${column} < ${add(endOfPrefix(prefix))}`;
}

export function apiListing({ ids, after, limit }: ApiQuery): Listing {
  const among = ids === null ? 'TRUE' : ids.length === 0 ? 'FALSE' : `id IN (${placeholders(ids.length)})`;
  const where = `deleted_at_ms IS NULL AND ${among}`;
  return listing({ ...table('apis'), where, params: [...(ids ?? [])], after, limit });
}

export function identityListing({ search, after, limit }: IdentityQuery): Listing {
  const params: Params = [];
  const add = (value: string): string => `$${params.push(value)}`;
  const where = search === null ? 'TRUE' : `id IN (${searchedIdentities(search, add)})`;
  return listing({ ...table('identities'), where, params, after, limit });
}

/** Ids of identities whose `externalId` begins with the search, and of those that have a word for each of its words. */
function searchedIdentities(search: string, add: AddParameter): string {
  const byExternalId = `SELECT id FROM identities WHERE ${inRange('external_id', search, add)}`;
  return withWords(byExternalId, search, { scope: add(IDENTITIES_SCOPE), add });
}

export const KEYS_OF_IDENTITY = `${KEY_SELECT} WHERE k.identity_id = $1 AND k.id > $2 AND ${IS_LIVE} ORDER BY k.id LIMIT $3`;

export function planListing(query: PageQuery): Listing {
  return listing({ ...table('plans'), where: 'TRUE', params: [], ...query });
}

export function overrideListing(namespaceId: string, query: PageQuery): Listing {
  return listing({ ...table('overrides'), where: 'namespace_id = $1', params: [namespaceId], ...query });
}

function table(name: string): Pick<ListingInput, 'from' | 'select' | 'id'> {
  return { from: name, select: `SELECT * FROM ${name}`, id: 'id' };
}

function listing({ from, select, id, where, params, after, limit }: ListingInput): Listing {
  const [next, last] = [params.length + 1, params.length + 2];
  return {
    total: { sql: `SELECT count(*) AS total FROM ${from} WHERE ${where}`, params },
    page: {
      sql: `${select} WHERE ${where} AND ${id} > $${next} ORDER BY ${id} LIMIT $${last}`,
      // One row more than asked for shows whether there is a next page.
      params: [...params, after ?? '', limit + 1],
    },
  };
}

export function toPage<T extends { id: string }>(rows: readonly T[], limit: number, total: number): Page<T> {
  const items = rows.slice(0, limit);
  return { items, total, cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
}

/** Newest first, by number. For each filter there is an index that ends with the number. */
export function entryListing(query: EntryQuery): Statement {
  const params: Params = [];
  const conditions = ['TRUE'];
  const add = (condition: string, value: string | number | null): void => {
    if (value !== null) conditions.push(`${condition} $${params.push(value)}`);
  };
  add('number <', query.before);
  add('actor =', query.actor);
  add('action =', query.action);
  add('target =', query.target);
  add('at_ms >=', query.fromMs);
  add('at_ms <', query.untilMs);
  params.push(query.limit + 1);
  return {
    sql: `SELECT number, at_ms, actor, action, target, before_json, after_json, origin, request_id, via FROM audit_entries
      WHERE ${conditions.join(' AND ')} ORDER BY number DESC LIMIT $${params.length}`,
    params,
  };
}

/** Removes former secrets, sessions and links that have ended. */
export function deleteEnded(endedAtMs: number): Statement[] {
  const ended = ['former_secrets', 'sessions', 'portal_sessions'];
  return ended.map((from) => ({ sql: `DELETE FROM ${from} WHERE until_ms <= $1`, params: [endedAtMs] }));
}

/** Values in one IN (...). */
const MAX_IN = 500;

/** Finds the rows whose column has one of the values, in as few statements as the engines allow. */
export async function findAny<T>(
  reader: SqlReader,
  { select, column }: { readonly select: string; readonly column: string },
  values: readonly string[],
): Promise<T[]> {
  const rows: T[] = [];
  for (let i = 0; i < values.length; i += MAX_IN) {
    rows.push(...(await reader.find<T>(byAny(select, column, values.slice(i, i + MAX_IN)))));
  }
  return rows;
}
