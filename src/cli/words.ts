/**
 * What people call a thing that the API calls otherwise. The commands, flags, labels and headings of the command line are made with these
 * words. `--json`, files and the names of events keep those of the API.
 */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['identity', 'customer'],
  ['identities', 'customers'],
  ['externalId', 'customer'],
  ['ownerId', 'customer'],
  ['remaining', 'credits'],
]);

/** Flags that had another name once, each with the present one. */
export const FORMER_FLAGS: ReadonlyMap<string, string> = new Map([
  ['identity', 'customer'],
  ['external-id', 'customer'],
  ['owner', 'customer'],
  ['remaining', 'credits'],
]);

/** Whether people have a word of their own for this member of a request or an answer. */
export function hasOwnWord(name: string): boolean {
  return WORDS.has(name);
}

/** `expiresAt` is `expires at`, and `identityId` is `customer id`. */
export function inWords(name: string): string {
  return (
    WORDS.get(name) ??
    name
      .split(/(?=[A-Z])/)
      .map((word) => userWord(word.toLowerCase()))
      .join(' ')
  );
}

/** The same in a sentence: a customer is known by its id. */
export function inSentence(name: string): string {
  return name === 'externalId' ? 'id' : inWords(name);
}

export function userWord(word: string): string {
  return WORDS.get(word) ?? word;
}

/** The former flags of a command that has these now, each with what to write. */
export function formerFlagsOf(flags: object): Readonly<Record<string, string>> {
  const former = [...FORMER_FLAGS].filter(([, flag]) => flag in flags);
  return Object.fromEntries(former.map(([name, flag]) => [name, `Write --${flag}.`]));
}
