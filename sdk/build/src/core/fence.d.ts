/**
 * A record that decided a spend, and the revision that it had then. The ledger reads the revision again inside the spend, without
 * a lock. A record that changed in between makes the spend stale. So a revocation is immediate for everything exact, whichever
 * record decided.
 *
 *   key, identity, plan, role, override   the record with this id has this revision
 *   permission                      the permission with this id exists (it never changes)
 *   noOverride                      the identifier `name` of the namespace `id` has no override of its own
 *   patterns                        the overrides with wildcards of the namespace `id` are those of this revision
 */
export interface Fence {
  readonly kind: FenceKind;
  readonly id: string;
  /** The identifier of `noOverride`; empty for the other kinds. */
  readonly name: string;
  readonly revision: number;
}
export type FenceKind = 'key' | 'identity' | 'plan' | 'role' | 'permission' | 'override' | 'noOverride' | 'patterns';
export declare const NO_FENCES: readonly Fence[];
/** The revision of a record that does not exist. */
export declare const ABSENT = -1;
export declare function recordFence(
  kind: 'key' | 'identity' | 'plan' | 'role' | 'override',
  id: string,
  revision: number,
): Fence;
export declare function permissionFence(id: string): Fence;
export declare function noOverrideFence(namespaceId: string, identifier: string): Fence;
export declare function patternsFence(namespaceId: string, revision: number): Fence;
/** The name of the fenced record. Fences of one record with different revisions have the same name. */
export declare function fencedRecord({ kind, id, name }: Pick<Fence, 'kind' | 'id' | 'name'>): string;
