/**
 * What a request asks of a key's permissions. Only a permission that a key holds has wildcards: there, a `*` between dots stands
 * for one word, and a `*` at the end for one word or more. In a query, `*` is an ordinary character.
 */
export type PermissionQuery =
  | string
  | {
      readonly and: readonly PermissionQuery[];
    }
  | {
      readonly or: readonly PermissionQuery[];
    };
/** A permission that a key holds, with the permission's record and the role that brings it. */
export interface Grant {
  readonly slug: string;
  readonly permissionId: string;
  /** The role that brings it; null = the key holds it directly. */
  readonly role: {
    readonly id: string;
    readonly revision: number;
  } | null;
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
export declare const NO_PERMISSIONS: HeldPermissions;
export declare function holdPermissions(grants: readonly Grant[]): HeldPermissions;
export declare function satisfies(held: HeldPermissions, query: PermissionQuery): boolean;
/** The grants that satisfy the query. Of alternatives, only the first that the key holds. */
export declare function grantsFor(held: HeldPermissions, query: PermissionQuery): readonly Grant[];
export {};
