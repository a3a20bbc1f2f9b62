import { MAX_NAMESPACES } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { type IdentifierPattern, isPattern, matchesPattern, toPattern } from '../../core/identifierPattern.ts';
import type { NamespaceRecord, OverrideRecord } from '../../model/overrides.ts';
import type { Records } from '../../storage/port/records.ts';

/** Overrides kept in memory, of all namespaces together. */
const MAX_OVERRIDES = 200_000;
/** Namespaces that are read at the same time. One more is refused at once. */
const MAX_LOADS = 1_000;

/** A namespace with its overrides, ready for lookups. */
export interface NamespaceEntry {
  readonly id: string;
  readonly name: string;
  /** See NamespaceRecord. It is read before the overrides, so it is never newer than they are. */
  readonly patternsRevision: number;
  readonly exact: ReadonlyMap<string, OverrideRecord>;
  /** The longest first. */
  readonly patterns: readonly (IdentifierPattern & { readonly override: OverrideRecord })[];
}

interface Load {
  readonly name: string;
  /** Set when the namespace was found and its overrides are being read; null before. */
  id: string | null;
  entry: Promise<NamespaceEntry | null>;
}

/**
 * Keeps namespaces that were used, by name. A name is in one of these states:
 *
 *   absent  --find-->      loading
 *   loading --found-->     kept
 *   loading --not found--> absent
 *   kept    --drop-->      absent
 *   loading --drop-->      absent   callers that wait already get what is read; it is not kept, and later callers read again
 */
export class Namespaces {
  readonly #records: Records;
  readonly #kept = new Map<string, NamespaceEntry>();
  readonly #names = new Map<string, string>();
  readonly #loads = new Map<string, Load>();
  #overrides = 0;

  constructor(records: Records) {
    this.#records = records;
  }

  /** null: there is no namespace with this name. */
  async find(name: string): Promise<NamespaceEntry | null> {
    return this.#kept.get(name) ?? (this.#loads.get(name) ?? this.#begin(name)).entry;
  }

  /** Forgets a namespace, by id or by name: it was created, or its overrides have changed. */
  drop(subject: string): void {
    this.#remove(this.#names.get(subject) ?? '');
    this.#remove(subject);
    // A load that has no id yet has not begun to read overrides, so it will read the present ones.
    for (const load of this.#loads.values()) {
      if (load.name === subject || load.id === subject) this.#loads.delete(load.name);
    }
  }

  /** Forgets everything: any namespace may have changed. */
  clear(): void {
    this.#kept.clear();
    this.#names.clear();
    this.#loads.clear();
    this.#overrides = 0;
  }

  #begin(name: string): Load {
    if (this.#loads.size >= MAX_LOADS)
      throw new AppError('UNAVAILABLE', 'Too many namespaces are being looked up in the database. Try again.');
    const load: Load = { name, id: null, entry: Promise.resolve(null) };
    load.entry = this.#load(load);
    this.#loads.set(name, load);
    return load;
  }

  async #load(load: Load): Promise<NamespaceEntry | null> {
    try {
      const record = await this.#records.findNamespace(load.name);
      if (record === null) return null;
      load.id = record.id;
      const entry = toEntry(record, await this.#records.listAllOverrides(record.id));
      if (this.#loads.get(load.name) === load) this.#keep(entry);
      return entry;
    } finally {
      if (this.#loads.get(load.name) === load) this.#loads.delete(load.name);
    }
  }

  #keep(entry: NamespaceEntry): void {
    this.#kept.set(entry.name, entry);
    this.#names.set(entry.id, entry.name);
    this.#overrides += sizeOf(entry);
    for (const [name] of this.#kept) {
      if (this.#kept.size <= MAX_NAMESPACES && this.#overrides <= MAX_OVERRIDES) return;
      this.#remove(name);
    }
  }

  #remove(name: string): void {
    const entry = this.#kept.get(name);
    if (entry === undefined) return;
    this.#kept.delete(name);
    this.#names.delete(entry.id);
    this.#overrides -= sizeOf(entry);
  }
}

/** The override of an identifier: its own, otherwise that of the longest pattern that matches. */
export function overrideFor({ exact, patterns }: NamespaceEntry, identifier: string): OverrideRecord | null {
  return exact.get(identifier) ?? patterns.find((pattern) => matchesPattern(pattern, identifier))?.override ?? null;
}

function toEntry(
  { id, name, patternsRevision }: NamespaceRecord,
  overrides: readonly OverrideRecord[],
): NamespaceEntry {
  const patterns = overrides
    .filter(({ identifier }) => isPattern(identifier))
    .map((override) => ({ ...toPattern(override.identifier), override }))
    // Patterns of the same length are sorted by their text, so that all nodes choose the same one.
    .sort((a, b) => byLength(a.override.identifier, b.override.identifier));
  const exact = new Map(
    overrides.filter(({ identifier }) => !isPattern(identifier)).map((override) => [override.identifier, override]),
  );
  return { id, name, patternsRevision, exact, patterns };
}

function byLength(a: string, b: string): number {
  return b.length - a.length || (a < b ? -1 : 1);
}

function sizeOf({ exact, patterns }: NamespaceEntry): number {
  return exact.size + patterns.length;
}
