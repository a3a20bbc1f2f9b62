import { type CachedEntry, isByItself, type Sources } from './cachedEntry.ts';
import type { Identities } from './identities.ts';
import { withSources } from './makeEntry.ts';

/** Keys with more data than fits into a packed row, as objects. */
export class KeptKeys {
  readonly #identities: Identities;
  readonly #entries = new Map<string, CachedEntry>();

  constructor(identities: Identities) {
    this.#identities = identities;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Undefined: the key is not there, or its identity, its plan or that of its identity must be read again. */
  get(digest: string): CachedEntry | undefined {
    const entry = this.#entries.get(digest);
    if (entry === undefined || entry.own === null || isByItself(entry)) return entry;
    const hasItsPlan = entry.planSlot === null || entry.planSlot.entry === entry.plan;
    if (hasItsPlan && entry.identity?.isPresent !== false) return entry;
    const given = this.#identities.givenBy(entry);
    if (given === null) return undefined;
    const present = withSources(entry, entry.own, { ...given, identity: this.#identities.share(given.identity) });
    this.#entries.set(digest, present);
    return present;
  }

  /** Null: the key is not there. */
  sourcesOf(digest: string): Sources | null {
    return this.#entries.get(digest) ?? null;
  }

  /** The row of its identity is released with the key. */
  add(digest: string, entry: CachedEntry): void {
    this.delete(digest);
    this.#entries.set(digest, entry);
  }

  delete(digest: string): void {
    const entry = this.#entries.get(digest);
    if (entry === undefined) return;
    this.#entries.delete(digest);
    this.#identities.release(entry.identityRow);
  }

  dropApi(apiId: string): void {
    for (const [digest, entry] of this.#entries) if (entry.apiId === apiId) this.delete(digest);
  }

  /** Roles or permissions have changed. */
  dropAccess(): void {
    for (const [digest, { own }] of this.#entries) if (own?.permissions != null) this.delete(digest);
  }

  dropOldest(): void {
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.delete(oldest);
  }

  /** The identities are cleared with the keys. */
  clear(): void {
    this.#entries.clear();
  }
}
