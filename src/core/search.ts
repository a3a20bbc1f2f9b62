/** Words of one key that can be found. Further words are not indexed. */
const MAX_WORDS = 100;
/** A longer word is cut, and found by its beginning. */
const MAX_WORD_LENGTH = 64;
/** Words of one search. */
export const MAX_SEARCH_WORDS = 8;

/** The words of a text: in lower case, split at everything that is neither a letter nor a digit. */
export function wordsOf(text: string): string[] {
  return [...eachWord(text)];
}

/** One word at a time: most words of a long text are never asked for. */
function* eachWord(text: string): Generator<string, undefined> {
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) yield cut(word);
}

/** Never cuts inside a character: a half surrogate pair cannot be stored. */
function cut(word: string): string {
  return word.length <= MAX_WORD_LENGTH ? word : Array.from(word).slice(0, MAX_WORD_LENGTH).join('');
}

/** The words of a name, then those of the texts and numbers in its metadata. */
export function searchWords(name: string | null, meta: string | null): string[] {
  const found = new Set(wordsOf(name ?? ''));
  if (meta !== null) collect(JSON.parse(meta), found);
  return [...found].slice(0, MAX_WORDS);
}

/** The words that find an identity: those of its `externalId`, its name and its metadata. */
export function identityWords(identity: { externalId: string; name: string | null; meta: string | null }): string[] {
  return searchWords(`${identity.externalId} ${identity.name ?? ''}`, identity.meta);
}

function collect(value: unknown, found: Set<string>): void {
  if (found.size >= MAX_WORDS) return;
  if (typeof value === 'string' || typeof value === 'number') {
    for (const word of eachWord(String(value))) {
      if (found.size >= MAX_WORDS) return;
      found.add(word);
    }
  }
  if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) collect(member, found);
}

/** The end of the range of texts that begin with `prefix`. Every such text sorts before it. */
export function endOfPrefix(prefix: string): string {
  return `${prefix}\u{10FFFF}`;
}
