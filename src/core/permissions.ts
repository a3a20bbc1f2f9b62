/**
 * What a request may ask of a key's permissions. Wildcards count on the key's side only: in a held permission a `*` between
 * dots stands for one word, and at the end for one word or more. In a query a `*` is just a character.
 */
export type PermissionQuery =
  | string
  | { readonly and: readonly PermissionQuery[] }
  | { readonly or: readonly PermissionQuery[] };

/** A permission that a key holds, and the records it holds it by. */
export interface Grant {
  readonly slug: string;
  readonly permissionId: string;
  /** The role that brings it; null = the key holds it directly. */
  readonly role: { readonly id: string; readonly revision: number } | null;
}

/** What a key may do: its permissions, direct and through roles, ready to be asked. */
export interface HeldPermissions {
  readonly exact: ReadonlyMap<string, Grant>;
  /** Those with wildcards, in their words. */
  readonly patterns: readonly { readonly words: readonly string[]; readonly grant: Grant }[];
}

export const NO_PERMISSIONS: HeldPermissions = { exact: new Map(), patterns: [] };

export function holdPermissions(grants: readonly Grant[]): HeldPermissions {
  const patterns = grants.flatMap((grant) => {
    const words = grant.slug.split('.');
    return words.includes('*') ? { words, grant } : [];
  });
  return { exact: new Map(grants.map((grant) => [grant.slug, grant])), patterns };
}

export function satisfies(held: HeldPermissions, query: PermissionQuery): boolean {
  if (typeof query === 'string') return holds(held, query);
  return 'and' in query
    ? query.and.every((part) => satisfies(held, part))
    : query.or.some((part) => satisfies(held, part));
}

/** The grants that make the answer yes: of alternatives only the first that is held. */
export function grantsFor(held: HeldPermissions, query: PermissionQuery): readonly Grant[] {
  if (typeof query === 'string') {
    const grant = findGrant(held, query);
    return grant === null ? [] : [grant];
  }
  if ('and' in query) return query.and.flatMap((part) => grantsFor(held, part));
  const first = query.or.find((part) => satisfies(held, part));
  return first === undefined ? [] : grantsFor(held, first);
}

function holds(held: HeldPermissions, asked: string): boolean {
  return findGrant(held, asked) !== null;
}

function findGrant({ exact, patterns }: HeldPermissions, asked: string): Grant | null {
  const grant = exact.get(asked);
  if (grant !== undefined) return grant;
  if (patterns.length === 0) return null;
  const words = asked.split('.');
  return patterns.find((pattern) => matches(pattern.words, words))?.grant ?? null;
}

function matches(pattern: readonly string[], words: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*';
  if (isOpen ? words.length < pattern.length : words.length !== pattern.length) return false;
  return pattern.every((part, i) => part === '*' || part === words[i]);
}
