import { searchWords } from '../../core/search.ts';

/** What the words of a key are made from. */
export interface NamedRow {
  id: string;
  api_id: string;
  name: string | null;
  meta: string | null;
}

/** Keys that have words, by id; for filling the index of the search when it is new. */
export const NAMED_KEYS = `SELECT id, api_id, name, meta FROM keys
  WHERE (name IS NOT NULL OR meta IS NOT NULL) AND id > $1 ORDER BY id LIMIT $2`;

/** The words of a stored key; none when its row cannot be read. */
export function storedWords({ name, meta }: NamedRow): string[] {
  try {
    return searchWords(name, meta);
  } catch {
    return searchWords(name, null);
  }
}
