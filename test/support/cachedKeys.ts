import { Identities } from '../../src/engine/cache/identities.ts';
import type { KeyEntry } from '../../src/engine/cache/entries.ts';
import { KeyRows } from '../../src/engine/cache/keyRows.ts';
import { Plans } from '../../src/engine/cache/plans.ts';
import type { IdentityRecord } from '../../src/model/identities.ts';
import { BLANK_KEY, type KeyRecord } from '../../src/model/keys.ts';
import { textReader } from '../../src/bunPlatform.ts';

export const cachedDigest = (keyId: string): string => Bun.SHA256.hash(keyId, 'base64');

/** Keys in memory, without a database and without plans. */
export class CachedKeys {
  readonly #identities = new Identities(new Plans({ findPlans: async () => [] }), textReader);
  readonly keys = new KeyRows(textReader, this.#identities);

  add(fields: Partial<KeyRecord>, identity: IdentityRecord | null = null): KeyEntry {
    const key = { ...BLANK_KEY, apiId: 'api_1', revision: 1, ...fields, identityId: identity?.id ?? null };
    const digest = cachedDigest(key.id);
    const identityRow = identity === null ? null : this.#identities.keep(identity);
    const found = { key, identity, permissions: null, secretUntilMs: null };
    this.keys.add(digest, found, { identityRow, planSlot: null });
    return this.keys.get(digest) as KeyEntry;
  }
}
