import { endOfPrefix, MAX_SEARCH_WORDS, wordsOf } from '../../../core/search.ts';
import type { Params, SqlReader } from '../query/statement.ts';

/** A search that finds more than this is answered step by step. */
const MANY_FOUND = 20_000;
/** Up to so many different words that begin alike are looked up one by one: that reads only what lies in the step. */
const FEW_WORDS = 100;

/** A search of which a part finds many keys: it is too large to be read as a whole for one page. */
export interface LargeSearch {
  readonly search: string;
  readonly parts: readonly WordPart[];
}

/** A word of the search, and the stored words that begin with it; null = too many to name. */
interface WordPart {
  readonly word: string;
  readonly stored: readonly string[] | null;
}

/** Null for a search that finds few. It reads a bounded number of index entries. */
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

/** Steps from one word to the next: each step is one look into the primary key of search_words. */
const STORED_WORDS = `WITH RECURSIVE stored (word) AS (
    SELECT min(word) FROM search_words WHERE scope = $1 AND word >= $2
    UNION ALL
    SELECT (SELECT min(next.word) FROM search_words next WHERE next.scope = $1 AND next.word > stored.word)
    FROM stored WHERE stored.word < $3
  ) SELECT word FROM stored LIMIT ${FEW_WORDS + 2}`;

async function findStored(reader: SqlReader, apiId: string, word: string): Promise<readonly string[] | null> {
  const end = endOfPrefix(word);
  const rows = await reader.scan<{ word: string | null }>({ sql: STORED_WORDS, params: [apiId, word, end] });
  // The step after the last word that begins so finds another one, or null.
  const stored = rows.flatMap((row) => (row.word?.startsWith(word) ? row.word : []));
  return stored.length > FEW_WORDS ? null : stored;
}

/**
 * The condition on a key `k` after one key and up to another. Its start is compared row by row: the index keys_by_start would read all that
 * begin so. Parameters are added in the order in which they appear.
 */
export function isFound(
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
