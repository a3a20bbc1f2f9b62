import type { IdentityRecord } from '../../core/records.ts';
import { touchAccounts } from './counters.ts';
import type { Draft } from './keyMaking.ts';

/**
 * A key that spends of the counters of its identity is held by their revision alone: when the key changes, the identity gets
 * another one with it. Otherwise a node that has not heard of the change yet could go on spending with the old key.
 */
export function touchIdentity(draft: Pick<Draft, 'writes' | 'accounts'>, identity: IdentityRecord | null): void {
  if (identity === null) return;
  const isExact = identity.credits !== null || identity.limits.some(({ account }) => account !== null);
  const isDrafted = draft.writes.some((write) => write.kind === 'updateIdentity' && write.identity.id === identity.id);
  if (!isExact || isDrafted) return;
  const revision = identity.revision + 1;
  draft.writes.push({ kind: 'updateIdentity', identity: { ...identity, revision }, expect: identity.revision });
  draft.accounts.push(...touchAccounts(identity, revision));
}
