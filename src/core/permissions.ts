/**
 * What a request asks of a key's permissions. Only a permission that a key holds has wildcards: there, a `*` between dots stands
 * for one word, and a `*` at the end for one word or more. In a query, `*` is an ordinary character.
 */
export type PermissionQuery =
  | string
  | { readonly and: readonly PermissionQuery[] }
  | { readonly or: readonly PermissionQuery[] };

/** A permission that a key holds, with the permission's record and the role that brings it. */
export interface Grant {
  readonly slug: string;
  readonly permissionId: string;
  /** The role that brings it; null = the key holds it directly. */
  readonly role: { readonly id: string; readonly revision: number } | null;
}

/** All permissions of a key, direct and through roles, ready for queries. */
export interface HeldPermissions {
  /** By slug, including slugs with wildcards. */
  readonly grants: ReadonlyMap<string, Grant>;
  readonly shapes: readonly Shape[];
}

/**
 * All wildcards with the same number of words and a `*` at the same positions. One lookup answers for all of them: the permission
 * that is asked for, with `*` at these positions, is one of them or none.
 */
interface Shape {
  readonly length: number;
  /** The last word is `*`, which stands for one word or more. */
  readonly isOpen: boolean;
  /** The positions of `*`. */
  readonly stars: readonly number[];
}

export const NO_PERMISSIONS: HeldPermissions = { grants: new Map(), shapes: [] };

export function holdPermissions(grants: readonly Grant[]): HeldPermissions {
  const shapes = new Map<string, Shape>();
  for (const { slug } of grants) if (slug.includes('*')) addShape(shapes, slug.split('.'));
  return { grants: new Map(grants.map((grant) => [grant.slug, grant])), shapes: [...shapes.values()] };
}

function addShape(shapes: Map<string, Shape>, words: readonly string[]): void {
  const stars = words.flatMap((word, i) => (word === '*' ? i : []));
  if (stars.length === 0) return;
  const { length } = words;
  shapes.set(`${length} ${stars.join(' ')}`, { length, isOpen: stars.at(-1) === length - 1, stars });
}

export function satisfies(held: HeldPermissions, query: PermissionQuery): boolean {
  if (typeof query === 'string') return holds(held, query);
  return 'and' in query
    ? query.and.every((part) => satisfies(held, part))
    : query.or.some((part) => satisfies(held, part));
}

/** The grants that satisfy the query. Of alternatives, only the first that the key holds. */
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

/** A key may have many wildcards, but they have few shapes. Each shape takes one lookup. */
function findGrant({ grants, shapes }: HeldPermissions, asked: string): Grant | null {
  const grant = grants.get(asked);
  if (grant !== undefined) return grant;
  if (shapes.length === 0) return null;
  const words = asked.split('.');
  for (const shape of shapes) {
    const fitting = fits(shape, words) ? grants.get(outlined(shape, words)) : undefined;
    if (fitting !== undefined) return fitting;
  }
  return null;
}

function fits({ length, isOpen }: Shape, words: readonly string[]): boolean {
  return isOpen ? words.length >= length : words.length === length;
}

function outlined({ length, stars }: Shape, words: readonly string[]): string {
  const outline = words.slice(0, length);
  for (const star of stars) outline[star] = '*';
  return outline.join('.');
}
