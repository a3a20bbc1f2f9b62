import type { RbacReference } from '../keys/keyInput.ts';

interface Nameable {
  readonly id: string;
  readonly name: string;
  /** Permissions only. */
  readonly slug?: string;
}

/** Roles or permissions by what a request may call them. */
export class RbacNames<T extends Nameable> {
  readonly #byId = new Map<string, T>();
  readonly #byName = new Map<string, T>();
  readonly #bySlug = new Map<string, T>();

  constructor(records: readonly T[]) {
    for (const record of records) this.add(record);
  }

  add(record: T): void {
    this.#byId.set(record.id, record);
    this.#byName.set(record.name, record);
    if (record.slug !== undefined) this.#bySlug.set(record.slug, record);
  }

  /**
   * An id goes before a slug, a slug before a name; what is given as a name may also be a slug. Two nodes that make
   * permissions in the same instant can make one's name the other's slug: the name is then meant.
   */
  find({ id, name = '', slug }: RbacReference): T | undefined {
    if (id !== undefined) return this.#byId.get(id);
    if (slug !== undefined) return this.#bySlug.get(slug);
    return this.#byName.get(name) ?? this.#bySlug.get(name);
  }

  /** Someone has it as a name or as a slug: as either it would be ambiguous. */
  isTaken(text: string): boolean {
    return this.#byName.has(text) || this.#bySlug.has(text);
  }
}

/** A role or permission as answers and the audit log show it. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

/** In the order of their names. */
export function namedOf(records: readonly Named[]): readonly Named[] {
  return records.map(({ id, name }) => ({ id, name })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Neither holds one twice. */
export function isSameSet(some: readonly Named[], others: readonly Named[]): boolean {
  const ids = new Set(some.map(({ id }) => id));
  return some.length === others.length && others.every(({ id }) => ids.has(id));
}
