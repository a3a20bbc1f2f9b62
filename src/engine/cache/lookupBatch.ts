import type { KeyEntry } from './keyEntry.ts';
import type { KeyWithIdentity, PoisonedKey } from '../../storage/port/records.ts';

/** A key that is being looked up. */
export interface Lookup {
  readonly promise: Promise<KeyEntry | null>;
  resolve(entry: KeyEntry | null): void;
  reject(error: Error): void;
  /** The key changed during the read: the answer must not be kept. */
  changed: boolean;
}

/** Keys that are being read together, and the records that were dropped meanwhile: the answer may be older than their change. */
export class LookupBatch {
  readonly apis = new Set<string>();
  readonly identities = new Set<string>();
  access = false;

  /** A record of the answer was dropped while the batch was being read. */
  hasChanged(found: KeyWithIdentity | PoisonedKey | null): boolean {
    if (found === null) return false;
    if ('poisoned' in found) return this.apis.has(found.apiId) || this.access;
    const { apiId, identityId, roleIds, permissionIds } = found.key;
    return (
      this.apis.has(apiId) ||
      (identityId !== null && this.identities.has(identityId)) ||
      (this.access && (roleIds.length > 0 || permissionIds.length > 0))
    );
  }
}
