import { AppError } from '../../core/errors.ts';

/**
 * Groups of owners: the identifiers of a namespace form a group. Their ids begin with the id of the group and a colon; other owners
 * have no colon, and no group. All groups together cannot use up the counters of the node, and one group cannot use up the
 * share of all groups.
 */
export class OwnerGroups {
  readonly #max: number;
  readonly #maxTogether: number;
  readonly #sizes = new Map<string, number>();
  #crowded = 0;
  #together = 0;

  constructor(max: number, maxTogether: number) {
    this.#max = Math.min(max, Math.max(1, Math.floor(maxTogether / 2)));
    this.#maxTogether = maxTogether;
  }

  /** A group, or all groups together, are more than half full: ended owners should be forgotten. */
  get isCrowded(): boolean {
    return this.#crowded > 0 || this.#together * 2 > this.#maxTogether;
  }

  takesOneMore(owner: string): boolean {
    const group = groupOf(owner);
    return group === null || (this.#together < this.#maxTogether && this.#sizeOf(group) < this.#max);
  }

  /** Throws when its group is full, or all groups together are. */
  add(owner: string): void {
    const group = groupOf(owner);
    if (group !== null && this.#sizeOf(group) >= this.#max) throw tooMany();
    if (group !== null && this.#together >= this.#maxTogether) throw tooManyTogether();
    this.#change(owner, 1);
  }

  remove(owner: string): void {
    this.#change(owner, -1);
  }

  #sizeOf(group: string): number {
    return this.#sizes.get(group) ?? 0;
  }

  #change(owner: string, by: 1 | -1): void {
    const group = groupOf(owner);
    if (group === null) return;
    const before = this.#sizeOf(group);
    this.#together += by;
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
  const bounds = 'KEYSTILE_MAX_LIMITS_PER_NAMESPACE, or a quarter of KEYSTILE_MAX_LOCAL_COUNTERS';
  return new AppError(
    'UNAVAILABLE',
    `This namespace has reached its limit of local counters on this node (${bounds}).`,
  );
}

function tooManyTogether(): AppError {
  const who = 'All namespaces together have reached their limit of local counters on this node';
  return new AppError('UNAVAILABLE', `${who} (half of KEYSTILE_MAX_LOCAL_COUNTERS).`);
}
