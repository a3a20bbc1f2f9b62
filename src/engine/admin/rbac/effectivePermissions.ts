import { MAX_EFFECTIVE_PERMISSIONS } from '../../../core/bounds.ts';
import { AppError } from '../../../core/errors.ts';
import type { RoleRecord } from '../../../model/access.ts';
import type { KeyRecord } from '../../../model/keys.ts';
import type { Records } from '../../../storage/port/records.ts';
import type { RecordWrite } from '../../../storage/port/writes.ts';

/**
 * Counts the permissions that keys would have, their own and those of their roles; for one request, or for all keys of an import.
 * Permissions get numbers, so that counting a hundred keys with a hundred large roles each needs no set of texts per key.
 */
export class EffectivePermissions {
  readonly #records: Records;
  /** The number of each permission, by its id. */
  readonly #numbers = new Map<string, number>();
  readonly #ofRoles = new Map<string, readonly number[]>();
  /** By number: the last count that included the permission. Infinity = the permission was deleted and is never counted. */
  readonly #metIn: number[] = [];
  #counts = 0;
  /** For numbers below this one it is known whether the permission still exists. */
  #checked = 0;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Takes over roles that were read already. */
  learn(roles: readonly RoleRecord[]): void {
    for (const { id, permissionIds } of roles) {
      if (!this.#ofRoles.has(id)) this.#ofRoles.set(id, this.#numbersOf(permissionIds));
    }
  }

  /** Refuses a key with too many permissions. `writes` contains permissions that are not stored yet. */
  async check(key: Pick<KeyRecord, 'roleIds' | 'permissionIds'>, writes: readonly RecordWrite[]): Promise<void> {
    // Direct permissions alone have a lower bound of their own.
    if (key.roleIds.length === 0) return;
    const unknown = key.roleIds.filter((id) => !this.#ofRoles.has(id));
    if (unknown.length > 0) this.learn(await this.#records.findRoles({ ids: unknown, names: [] }));
    if (this.#count(key) <= MAX_EFFECTIVE_PERMISSIONS) return;
    await this.#skipDeleted(writes);
    const count = this.#count(key);
    if (count > MAX_EFFECTIVE_PERMISSIONS) throw tooMany(count);
  }

  #count({ roleIds, permissionIds }: Pick<KeyRecord, 'roleIds' | 'permissionIds'>): number {
    const present = ++this.#counts;
    let count = 0;
    for (const numbers of [this.#numbersOf(permissionIds), ...roleIds.map((id) => this.#ofRoles.get(id) ?? [])]) {
      for (const number of numbers) {
        if ((this.#metIn[number] ?? 0) >= present) continue;
        this.#metIn[number] = present;
        count++;
      }
    }
    return count;
  }

  /** Roles and keys keep the ids of deleted permissions. Such ids do not count. */
  async #skipDeleted(writes: readonly RecordWrite[]): Promise<void> {
    const ids = [...this.#numbers.keys()].slice(this.#checked);
    this.#checked = this.#numbers.size;
    const stored = ids.length === 0 ? [] : await this.#records.findPermissions({ ids, names: [] });
    const existing = new Set(stored.map(({ id }) => id));
    for (const write of writes) if (write.kind === 'insertPermission') existing.add(write.permission.id);
    const deleted = ids.filter((id) => !existing.has(id));
    for (const number of this.#numbersOf(deleted)) this.#metIn[number] = Infinity;
  }

  #numbersOf(permissionIds: readonly string[]): number[] {
    return permissionIds.map((id) => {
      const known = this.#numbers.get(id);
      if (known !== undefined) return known;
      this.#metIn.push(0);
      this.#numbers.set(id, this.#numbers.size);
      return this.#numbers.size - 1;
    });
  }
}

function tooMany(count: number): AppError {
  return new AppError(
    'PRECONDITION_FAILED',
    `A key can have at most ${MAX_EFFECTIVE_PERMISSIONS} permissions, its own and those of its roles together; this would make it ${count}.`,
  );
}
