import { insertEach, placeholders, type WriteStatement } from './statement.ts';

/** A record that words find. The scope of a key is its api. */
export interface Searchable {
  readonly scope: string;
  readonly id: string;
}

/** The scope of all identities. */
export const IDENTITIES_SCOPE = 'identities';

/** Words in one statement, of many records. */
const WORDS_PER_STATEMENT = 5_000;

/** The words of a new record. */
export function insertWords({ scope, id }: Searchable, words: readonly string[]): WriteStatement[] {
  return words.length === 0 ? [] : [insertEach('search_words', { scope, id }, ['word', words])];
}

export function addWords({ scope, id }: Searchable, words: readonly string[]): WriteStatement[] {
  if (words.length === 0) return [];
  const rows = words.map((_, i) => `($1, $2, $${i + 3})`);
  const sql = `INSERT INTO search_words (scope, id, word) VALUES ${rows.join(', ')} ON CONFLICT DO NOTHING`;
  return [{ sql, params: [scope, id, ...words], expects: null }];
}

export function removeWords({ scope, id }: Searchable, words: readonly string[]): WriteStatement[] {
  if (words.length === 0) return [];
  const sql = `DELETE FROM search_words WHERE scope = $1 AND id = $2 AND word IN (${placeholders(words.length, 3)})`;
  return [{ sql, params: [scope, id, ...words], expects: null }];
}

/** Removes the words of many records of one scope. */
export function removeAllWords(
  scope: string,
  records: readonly { readonly id: string; readonly words: readonly string[] }[],
): WriteStatement[] {
  const pairs = records.flatMap(({ id, words }) => words.map((word): [string, string] => [word, id]));
  const statements: WriteStatement[] = [];
  for (let first = 0; first < pairs.length; first += WORDS_PER_STATEMENT) {
    const some = pairs.slice(first, first + WORDS_PER_STATEMENT);
    const rows = some.map((_, i) => `($${i * 2 + 2}, $${i * 2 + 3})`);
    statements.push({
      sql: `DELETE FROM search_words WHERE scope = $1 AND (word, id) IN (VALUES ${rows.join(', ')})`,
      params: [scope, ...some.flat()],
      expects: null,
    });
  }
  return statements;
}
