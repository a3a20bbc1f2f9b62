import { MAX_NAMESPACES } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { type IdentifierPattern, isPattern, matchesPattern, toPattern } from '../../core/identifierPattern.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { ALL_RIGHTS, holdsRight, type Operation } from '../../core/rights.ts';
import { auditEntry } from '../admin/audit.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';
import type { KeepQuota } from '../admin/change/quotas.ts';
import type { Actor } from '../admin/change/requireRight.ts';
import type { NamespaceRecord, OverrideRecord } from '../../model/overrides.ts';
import type { AuditEntry } from '../../storage/port/auditEntries.ts';
import type { Records } from '../../storage/port/records.ts';
import type { RecordWrite } from '../../storage/port/writes.ts';

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

/** How often the namespace is created and looked up again when another node interferes. */
const MAX_TRIES = 5;

interface NewNamespace {
  readonly write: RecordWrite;
  readonly entry: AuditEntry;
}

/** Creates a namespace when it is first used. */
export class CreateNamespace {
  readonly #context: AdminContext;
  readonly #namespaces: Namespaces;
  readonly #creating = new Map<string, Promise<NamespaceEntry>>();

  constructor(context: AdminContext, namespaces: Namespaces) {
    this.#context = context;
    this.#namespaces = namespaces;
  }

  /** Creates the namespace once for all callers that wait for it. Refuses when there are as many namespaces as allowed. */
  async create(actor: Actor, name: string): Promise<NamespaceEntry> {
    let making = this.#creating.get(name);
    if (making === undefined) {
      making = this.#context.quotas
        .creating('namespaces', 1, (keepQuota) => this.#create(actor, name, keepQuota))
        .finally(() => this.#creating.delete(name));
      this.#creating.set(name, making);
    }
    return making;
  }

  /** The write and the audit entry of a new namespace. */
  #draft(actor: Actor, name: string): NewNamespace {
    const { storage, system } = this.#context;
    const createdAtMs = storage.ledger.nowMs();
    const id = makeId('ns', createdAtMs, system.randomBytes(ID_RANDOM_BYTES));
    const namespace: NamespaceRecord = { id, name, patternsRevision: 0, createdAtMs };
    const entry = auditEntry(actor, { action: 'namespace.create', target: id, before: null, after: { name } });
    return { write: { kind: 'insertNamespace', namespace }, entry };
  }

  async #create(actor: Actor, name: string, keepQuota: KeepQuota): Promise<NamespaceEntry> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { write, entry } = this.#draft(actor, name);
      // Another node may have created it first. Then the lookup finds that one.
      const writes = [write, ...(await keepQuota())];
      await this.#context.changes.tryOnce({ writes, accounts: [], entries: [entry] });
      const found = await this.#namespaces.find(name);
      if (found !== null) return found;
    }
    throw new AppError('UNAVAILABLE', 'The namespace could not be created; nothing was counted. Try again.');
  }
}

/** The actor may use any namespace in this way and may create namespaces. So it may create one that does not exist. */
export function mayCreate(actor: Actor, operation: Operation): boolean {
  return [operation, 'ratelimit.create_namespace' as const].every((each) => holdsRight(actor.rights, each, ALL_RIGHTS));
}

/** The same error for a namespace that does not exist and one that the root key may not see. */
export function noNamespace(name: string): AppError {
  return new AppError('NOT_FOUND', `There is no namespace ${repeatable(name)}, or this root key may not see it.`);
}
