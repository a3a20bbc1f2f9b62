/**
 * What a request may ask of a key's permissions. Wildcards count on the key's side only: in a held permission a `*` between
 * dots stands for one word, and at the end for one word or more. In a query a `*` is just a character.
 */
export type PermissionQuery =
  | string
  | { readonly and: readonly PermissionQuery[] }
  | { readonly or: readonly PermissionQuery[] };

/** What a key may do: its permissions, direct and through roles, ready to be asked. */
export interface HeldPermissions {
  readonly exact: ReadonlySet<string>;
  /** Those with wildcards, in their words. */
  readonly patterns: readonly (readonly string[])[];
}

export function holdPermissions(names: readonly string[]): HeldPermissions {
  const patterns = names.filter((name) => name.includes('*')).map((name) => name.split('.'));
  return { exact: new Set(names), patterns: patterns.filter((words) => words.includes('*')) };
}

export function satisfies(held: HeldPermissions, query: PermissionQuery): boolean {
  if (typeof query === 'string') return holds(held, query);
  return 'and' in query
    ? query.and.every((part) => satisfies(held, part))
    : query.or.some((part) => satisfies(held, part));
}

function holds({ exact, patterns }: HeldPermissions, asked: string): boolean {
  if (exact.has(asked)) return true;
  if (patterns.length === 0) return false;
  const words = asked.split('.');
  return patterns.some((pattern) => matches(pattern, words));
}

function matches(pattern: readonly string[], words: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*';
  if (isOpen ? words.length < pattern.length : words.length !== pattern.length) return false;
  return pattern.every((part, i) => part === '*' || part === words[i]);
}
