import type { FenceKind } from '../../core/fence.ts';

/**
 * By kind of fence: a query for the revision of the fenced record. It has one column, and no row when the record does not exist.
 * `id` and `name` are SQL expressions. Each query is one lookup in a unique index.
 */
export const FENCED_REVISION: Readonly<Record<FenceKind, (id: string, name: string) => string>> = {
  key: (id) => `SELECT r.revision FROM keys r WHERE r.id = ${id}`,
  identity: (id) => `SELECT r.revision FROM identities r WHERE r.id = ${id}`,
  plan: (id) => `SELECT r.revision FROM plans r WHERE r.id = ${id}`,
  role: (id) => `SELECT r.revision FROM roles r WHERE r.id = ${id}`,
  permission: (id) => `SELECT CAST(0 AS bigint) AS revision FROM permissions r WHERE r.id = ${id}`,
  override: (id) => `SELECT r.revision FROM overrides r WHERE r.id = ${id}`,
  noOverride: (id, name) =>
    `SELECT r.revision FROM overrides r WHERE r.namespace_id = ${id} AND r.identifier = ${name}`,
  patterns: (id) => `SELECT r.patterns_revision AS revision FROM namespaces r WHERE r.id = ${id}`,
};

export const FENCE_KINDS = Object.keys(FENCED_REVISION) as readonly FenceKind[];
