/** Names a role or permission by id, name or slug. With `create`, it is created when there is none. */
export interface RbacReference {
  readonly id?: string;
  readonly name?: string;
  readonly slug?: string;
  readonly create?: boolean;
}

interface Nameable {
  readonly id: string;
  readonly name: string;
  /** Permissions only. */
  readonly slug?: string;
}

/** Finds roles or permissions by id, name or slug. */
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
   * An id goes before a slug, a slug before a name. A given name may also be a slug. Two nodes that create permissions at the same
   * instant can use one text as a name and as a slug; then the name wins.
   */
  find({ id, name = '', slug }: RbacReference): T | undefined {
    if (id !== undefined) return this.#byId.get(id);
    if (slug !== undefined) return this.#bySlug.get(slug);
    return this.#byName.get(name) ?? this.#bySlug.get(name);
  }

  /** The text is a name or a slug already. A second use, as either, would be ambiguous. */
  isTaken(text: string): boolean {
    return this.#byName.has(text) || this.#bySlug.has(text);
  }
}

/** A role or permission as answers and the audit log show it. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

/** Ids and names, sorted by name. */
export function namedOf(records: readonly Named[]): readonly Named[] {
  return records.map(({ id, name }) => ({ id, name })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Both lists contain the same records. Neither may contain one twice. */
export function isSameSet(some: readonly Named[], others: readonly Named[]): boolean {
  const ids = new Set(some.map(({ id }) => id));
  return some.length === others.length && others.every(({ id }) => ids.has(id));
}
