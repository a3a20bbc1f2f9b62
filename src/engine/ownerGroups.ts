import { AppError } from '../core/errors.ts';

/**
 * Owners of local counters that belong together: the identifiers of a namespace. Their ids begin with the id of the group
 * and a colon; other owners have no colon, and no group. No group can use up the counters of the node.
 */
export class OwnerGroups {
  readonly #max: number;
  readonly #sizes = new Map<string, number>();
  #crowded = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** A group is more than half full: what has ended should be forgotten. */
  get isCrowded(): boolean {
    return this.#crowded > 0;
  }

  hasRoomFor(owner: string): boolean {
    const group = groupOf(owner);
    return group === null || (this.#sizes.get(group) ?? 0) < this.#max;
  }

  /** Throws when its group is full. */
  add(owner: string): void {
    if (!this.hasRoomFor(owner)) throw tooMany();
    this.#change(owner, 1);
  }

  remove(owner: string): void {
    this.#change(owner, -1);
  }

  #change(owner: string, by: 1 | -1): void {
    const group = groupOf(owner);
    if (group === null) return;
    const before = this.#sizes.get(group) ?? 0;
    const size = before + by;
    if (size === 0) this.#sizes.delete(group);
    else this.#sizes.set(group, size);
    this.#crowded += Number(size * 2 > this.#max) - Number(before * 2 > this.#max);
  }
}

function groupOf(owner: string): string | null {
  const end = owner.indexOf(':');
  return end < 0 ? null : owner.slice(0, end);
}

function tooMany(): AppError {
  const bounds = 'KEYSTILE_MAX_LIMITS_PER_NAMESPACE, or half of KEYSTILE_MAX_LOCAL_COUNTERS';
  return new AppError('UNAVAILABLE', `This namespace has as many local counters on this node as it may (${bounds}).`);
}
