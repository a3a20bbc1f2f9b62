import { type Fence, noOverrideFence, patternsFence, recordFence } from '../../core/fence.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import type { NamespaceEntry } from './namespaces.ts';

/**
 * The records that decided the numbers of a standalone limit: the override of its identifier; without one, the fact that there is
 * none, and the patterns of the namespace.
 */
export function overrideFences({ id, exact, patternsRevision }: NamespaceEntry, identifier: string): readonly Fence[] {
  const override = exact.get(identifier);
  if (override !== undefined) return [recordFence('override', override.id, override.revision)];
  const patterns = patternsFence(id, patternsRevision);
  // The own override of an identifier with a star would be a pattern, which the patterns fence covers.
  return isPattern(identifier) ? [patterns] : [noOverrideFence(id, identifier), patterns];
}
