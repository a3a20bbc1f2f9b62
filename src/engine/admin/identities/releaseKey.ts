import type { IdentityRecord } from '../../../model/identities.ts';
import type { KeyRecord } from '../../../model/keys.ts';
import type { KeyWithIdentity, PoisonedKey } from '../../../storage/port/records.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import type { Actor } from '../change/actor.ts';
import { retireAccounts, touchAccounts } from '../change/counters.ts';
import type { Draft } from '../change/draft.ts';
import { auditedKey, idsAround } from '../keys/auditedKey.ts';

/** What becomes of the keys of an identity that is deleted. */
export type KeysOfDeleted = 'disable' | 'delete' | 'detach';

interface ReleaseInput {
  readonly found: KeyWithIdentity | PoisonedKey;
  readonly keys: KeysOfDeleted;
  readonly formerDigests: readonly string[];
  readonly nowMs: number;
}

/** Adds the release of a key from its identity to a draft. A key that cannot be read is deleted: it is of no use to anybody. */
export function releaseKey(draft: Draft, actor: Actor, { found, keys, formerDigests, nowMs }: ReleaseInput): void {
  if ('poisoned' in found) {
    const digests = [found.secretDigest, ...formerDigests];
    const key = { id: found.poisoned, expect: found.revision, digests, words: [] };
    draft.writes.push({ kind: 'retireKeys', keys: [key], deletedAtMs: nowMs });
    draft.entries.push(deletion(actor, found.poisoned, { before: {}, ids: { apiId: found.apiId } }));
    return;
  }
  const { key: before, identity } = found;
  const key = released(before, keys, nowMs);
  draft.writes.push({ kind: 'updateKey', key, expect: before.revision, formerDigests });
  draft.accounts.push(...(keys === 'delete' ? retireAccounts : touchAccounts)(before, key.revision));
  const facts = { before: auditedKey(before, identity), ids: idsAround(before, identity) };
  draft.entries.push(
    keys === 'delete'
      ? deletion(actor, key.id, facts)
      : auditEntry(actor, { action: 'key.update', target: key.id, ...facts, after: auditedKey(key, null) }),
  );
}

function released(before: KeyRecord, keys: KeysOfDeleted, nowMs: number): KeyRecord {
  const changed = { ...before, updatedAtMs: nowMs, revision: before.revision + 1 };
  if (keys === 'delete') return { ...changed, deletedAtMs: nowMs };
  return { ...changed, identityId: null, enabled: keys === 'disable' ? false : before.enabled };
}

function deletion(
  actor: Actor,
  target: string,
  facts: { before: Record<string, unknown>; ids: Record<string, string> },
) {
  return auditEntry(actor, { action: 'key.delete', target, ...facts, after: { permanent: false }, isWhole: true });
}

/** Detached from a disabled identity, keys would be valid again. */
export function mayDetach({ enabled }: IdentityRecord, keys: KeysOfDeleted): boolean {
  return enabled || keys !== 'detach';
}
