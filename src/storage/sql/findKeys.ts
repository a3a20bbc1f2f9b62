import { endOfPrefix, MAX_SEARCH_WORDS, wordsOf } from '../../core/search.ts';
import type { FilteredKeyQuery, FilteredPage, KeyState, KeyWithIdentity, PoisonedKey } from '../port/records.ts';
import { type KeyRow, toReadKey } from './keyRows.ts';
import { withPermissions } from './permissions.ts';
import { KEY_SELECT, searched } from './query/queries.ts';
import type { Params, SqlReader } from './query/statement.ts';

/** If a plan has at most this many identities, their keys are looked up. Otherwise all keys are looked through. */
const FEW_HOLDERS = 1_000;
/** Keys that one page looks through at most. */
const MAX_LOOKED_THROUGH = 20_000;

/**
 * A page of keys by their state or plan, or by a search that finds many, oldest first. With a plan or a search it reads a bounded number of
 * rows, however many keys there are. So a page can have fewer keys than its limit, or none, and still a cursor. With only a state it reads
 * an index of the api, at worst all of it (`npm run bench -- --only listing` measures it with a million keys).
 */
export async function listFilteredKeys(
  reader: SqlReader,
  query: FilteredKeyQuery,
  large: LargeSearch | null,
): Promise<FilteredPage<KeyWithIdentity | PoisonedKey>> {
  const { rows, end } = await readRows(reader, query, large);
  const shown = rows.slice(0, query.limit);
  const cursor = rows.length > query.limit ? (shown.at(-1)?.id ?? null) : end;
  return { items: await withPermissions(reader, shown.map(toReadKey)), total: null, cursor };
}

/** The keys that one page looks through. */
interface Step {
  /** The last key of the step; null = all that follow. */
  readonly end: string | null;
  /** Null: there is no search, or it finds few keys. */
  readonly large: LargeSearch | null;
}

const WHOLE: Step = { end: null, large: null };

/** At most one row more than the limit. `end`: the last key that was looked through; null = all were. */
interface Found {
  readonly rows: readonly KeyRow[];
  readonly end: string | null;
}

async function readRows(reader: SqlReader, query: FilteredKeyQuery, large: LargeSearch | null): Promise<Found> {
  const { planId } = query;
  const hasMany = planId !== null && (await countHolders(reader, planId)) > FEW_HOLDERS;
  const isInSteps = hasMany || large !== null;
  const step = { large, end: isInSteps ? await endOfStep(reader, query) : null };
  const rows = await scanIds(reader, query, step, (ids) => {
    if (planId === null) return ids.ofApi();
    return isInSteps ? ids.onPlan(planId) : ids.ofFewHolders(planId);
  });
  return { rows, end: step.end };
}

async function countHolders(reader: SqlReader, planId: string): Promise<number> {
  const sql = 'SELECT count(*) AS total FROM (SELECT 1 FROM identities WHERE plan_id = $1 LIMIT $2) counted';
  return (await reader.scan<{ total: number }>({ sql, params: [planId, FEW_HOLDERS + 1] }))[0]?.total ?? 0;
}

/** The key that ends the step of a page; null if fewer keys follow. Reads only the index keys_of_generation or keys_of_owner. */
async function endOfStep(reader: SqlReader, query: FilteredKeyQuery): Promise<string | null> {
  const ids = new KeyIds({ ...query, state: null, search: null }, WHOLE);
  const sql = `SELECT k.id FROM keys k WHERE ${ids.conditions()} ORDER BY k.id LIMIT 1 OFFSET ${MAX_LOOKED_THROUGH - 1}`;
  return (await reader.scan<{ id: string }>({ sql, params: ids.params }))[0]?.id ?? null;
}

/** First finds the ids, only from indexes. Then only the rows of one page are read. */
async function scanIds(
  reader: SqlReader,
  query: FilteredKeyQuery,
  step: Step,
  select: (ids: KeyIds) => string,
): Promise<readonly KeyRow[]> {
  const ids = new KeyIds(query, step);
  const sql = `${KEY_SELECT} WHERE k.id IN (SELECT id FROM (${select(ids)}) page) ORDER BY k.id`;
  return reader.scan<KeyRow>({ sql, params: ids.params });
}

/** Statements that select the ids of a page. SQLite binds parameters in the order in which they first appear, so they are added in it. */
class KeyIds {
  readonly params: Params;
  readonly #query: FilteredKeyQuery;
  readonly #step: Step;

  constructor(query: FilteredKeyQuery, step: Step) {
    this.params = [query.apiId];
    this.#query = query;
    this.#step = step;
  }

  ofApi(): string {
    return this.#page('keys k', () => 'TRUE');
  }

  /** Uses the indexes keys_of_plan and keys_of_owner. Each of the two parts ends with a page. */
  ofFewHolders(planId: string): string {
    const own = this.#page('keys k', () => `k.plan_id = ${this.#add(planId)} AND k.identity_id IS NULL`);
    const shared = this.#page(
      'keys k',
      () => `k.identity_id IN (SELECT id FROM identities WHERE plan_id = ${this.#add(planId)})`,
    );
    const both = `SELECT id FROM (${own}) own UNION SELECT id FROM (${shared}) shared`;
    return `${both} ORDER BY id LIMIT ${this.#add(this.#query.limit + 1)}`;
  }

  onPlan(planId: string): string {
    const plan = 'CASE WHEN k.identity_id IS NULL THEN k.plan_id ELSE i.plan_id END';
    const from = 'keys k LEFT JOIN identities i ON i.id = k.identity_id';
    return this.#page(from, () => `${plan} = ${this.#add(planId)}`);
  }

  #page(from: string, condition: () => string): string {
    const where = `${this.conditions()} AND ${condition()}`;
    return `SELECT k.id FROM ${from} WHERE ${where} ORDER BY k.id LIMIT ${this.#add(this.#query.limit + 1)}`;
  }

  conditions(): string {
    const { externalId, search, state, after } = this.#query;
    const { end } = this.#step;
    return [
      'k.deleted_at_ms IS NULL AND k.api_id = $1',
      'k.generation = coalesce((SELECT generation FROM apis WHERE id = $1), 0)',
      `k.id > ${this.#add(after ?? '')}`,
      ...(end === null ? [] : [`k.id <= ${this.#add(end)}`]),
      ...(externalId === null
        ? []
        : [`k.identity_id = (SELECT id FROM identities WHERE external_id = ${this.#add(externalId)})`]),
      ...(state === null ? [] : [this.#inState(state)]),
      ...(search === null ? [] : [this.#isFound(search)]),
    ].join(' AND ');
  }

  #isFound(search: string): string {
    const add = (value: string): string => this.#add(value);
    const { large, end } = this.#step;
    return large === null
      ? `k.id IN (${searched(search, add)})`
      : isFound(large, { after: this.#query.after ?? '', end }, add);
  }

  /** Uses columns of the indexes keys_of_generation, keys_of_owner and keys_of_plan. */
  #inState(state: KeyState): string {
    switch (state) {
      case 'disabled':
        return 'k.enabled = 0';
      case 'expired':
        return `k.enabled = 1 AND k.expires_at_ms <= ${this.#add(this.#query.nowMs)}`;
      case 'active':
        return `k.enabled = 1 AND (k.expires_at_ms IS NULL OR k.expires_at_ms > ${this.#add(this.#query.nowMs)})`;
    }
  }

  #add(value: Params[number]): string {
    return `$${this.params.push(value)}`;
  }
}

/** A search that finds more than this is answered step by step. */
const MANY_FOUND = 20_000;
/** Up to this many different words with the same beginning are looked up one by one, which reads only entries within the step. */
const FEW_WORDS = 100;

/** A search with a part that finds many keys: it is too large to be read as a whole for one page. */
interface LargeSearch {
  readonly search: string;
  readonly parts: readonly WordPart[];
}

/** A word of the search, and the stored words that begin with it; null = too many to name. */
interface WordPart {
  readonly word: string;
  readonly stored: readonly string[] | null;
}

/** Returns null for a search that finds few keys. Reads a bounded number of index entries. */
export async function findLargeSearch(reader: SqlReader, apiId: string, search: string): Promise<LargeSearch | null> {
  const words = wordsOf(search).slice(0, MAX_SEARCH_WORDS);
  const counts = [
    countUpTo(reader, BY_START, [apiId, search, endOfPrefix(search)]),
    ...words.map((word) => countUpTo(reader, BY_WORD, [apiId, word, endOfPrefix(word)])),
  ];
  if ((await Promise.all(counts)).every((count) => count <= MANY_FOUND)) return null;
  const parts = words.map(async (word) => ({ word, stored: await findStored(reader, apiId, word) }));
  return { search, parts: await Promise.all(parts) };
}

const BY_START = 'SELECT 1 FROM keys WHERE api_id = $1 AND deleted_at_ms IS NULL AND start >= $2 AND start < $3';
const BY_WORD = 'SELECT 1 FROM search_words WHERE scope = $1 AND word >= $2 AND word < $3';

async function countUpTo(reader: SqlReader, found: string, params: Params): Promise<number> {
  const sql = `SELECT count(*) AS total FROM (${found} LIMIT ${MANY_FOUND + 1}) counted`;
  return (await reader.scan<{ total: number }>({ sql, params }))[0]?.total ?? 0;
}

/** Steps from one word to the next: each step is one lookup in the primary key of search_words. */
const STORED_WORDS = `WITH RECURSIVE stored (word) AS (
    SELECT min(word) FROM search_words WHERE scope = $1 AND word >= $2
    UNION ALL
    SELECT (SELECT min(next.word) FROM search_words next WHERE next.scope = $1 AND next.word > stored.word)
    FROM stored WHERE stored.word < $3
  ) SELECT word FROM stored LIMIT ${FEW_WORDS + 2}`;

async function findStored(reader: SqlReader, apiId: string, word: string): Promise<readonly string[] | null> {
  const end = endOfPrefix(word);
  const rows = await reader.scan<{ word: string | null }>({ sql: STORED_WORDS, params: [apiId, word, end] });
  // The step after the last word with this beginning finds another word, or null.
  const stored = rows.flatMap((row) => (row.word?.startsWith(word) ? row.word : []));
  return stored.length > FEW_WORDS ? null : stored;
}

/**
 * The condition on a key `k` between two keys. Its `start` is compared row by row, because the index keys_by_start would read all keys with
 * this beginning. Parameters are added in the order in which they appear.
 */
function isFound(
  { search, parts }: LargeSearch,
  { after, end }: { readonly after: string; readonly end: string | null },
  add: (value: string) => string,
): string {
  const within = (): string => `id > ${add(after)}${end === null ? '' : ` AND id <= ${add(end)}`}`;
  const range = (column: string, prefix: string): string =>
    `${column} >= ${add(prefix)} AND ${column} < ${add(endOfPrefix(prefix))}`;
  const oneOf = (stored: readonly string[]): string =>
    stored.length === 0 ? 'FALSE' : `word IN (${stored.map(add).join(', ')})`;
  const byStart = range('k.start', search);
  const byWord = parts.map(({ word, stored }) => {
    const words = stored === null ? range('word', word) : oneOf(stored);
    return `SELECT id FROM search_words WHERE scope = $1 AND ${words} AND ${within()}`;
  });
  return byWord.length === 0 ? byStart : `(${byStart} OR k.id IN (${byWord.join(' INTERSECT ')}))`;
}
