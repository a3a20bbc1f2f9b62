import { searchWords } from '../../core/search.ts';

/** The columns of a key that its search words come from. */
export interface NamedRow {
  id: string;
  api_id: string;
  name: string | null;
  meta: string | null;
}

/** Keys that have words, by id. Used to fill a new search index. */
export const NAMED_KEYS = `SELECT id, api_id, name, meta FROM keys
  WHERE (name IS NOT NULL OR meta IS NOT NULL) AND id > $1 ORDER BY id LIMIT $2`;

/** The words of a stored key. When its metadata cannot be read, only those of its name. */
export function storedWords({ name, meta }: NamedRow): string[] {
  try {
    return searchWords(name, meta);
  } catch {
    return searchWords(name, null);
  }
}
