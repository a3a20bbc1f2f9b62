import type { Grant } from '../../src/core/permissions.ts';

/** Direct grants of permissions with these slugs. */
export function grantsOf(slugs: readonly string[]): Grant[] {
  return slugs.map((slug) => ({ slug, permissionId: `perm of ${slug}`, role: null }));
}
