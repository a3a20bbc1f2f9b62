import type { KeyWithIdentity, PoisonedKey } from '../../storage/port/records.ts';

/** A question to the database that is under way, and what was dropped meanwhile: of that, its answer may be from before the change. */
export class Question {
  readonly apis = new Set<string>();
  readonly identities = new Set<string>();
  access = false;

  /** Something that the answer holds was dropped while it was on its way. */
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
