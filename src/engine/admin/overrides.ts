import { MAX_OVERRIDES_PER_NAMESPACE, MAX_PATTERNS_PER_NAMESPACE } from '../../core/bounds.ts';
import { AppError, notFound, repeatable } from '../../core/errors.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { NamespaceRecord, OverrideRecord } from '../../core/records.ts';
import { type Deed, holdsRight } from '../../core/rights.ts';
import type { Change } from '../../storage/port.ts';
import type { Page, PageQuery } from '../../storage/recordsPort.ts';
import { requireSomewhere } from './access.ts';
import type { Actor } from './actor.ts';
import { auditEvent } from './audit.ts';
import { noNamespace } from './namespaceMaking.ts';
import type { AdminParts } from './parts.ts';

/** Overrides of one namespace that may wait for each other. */
const MAX_WAITING = 1000;

export type NamespaceReference = { readonly id: string } | { readonly name: string };

export type OverrideNumbers = Pick<OverrideRecord, 'identifier' | 'limit' | 'durationMs' | 'async'>;

export interface SetOverride {
  readonly overrideId: string;
  readonly namespaceId: string;
}

export type OverridePage = Page<OverrideRecord> & { readonly namespaceId: string };

/** Other numbers for some identifiers of a namespace. */
export class OverrideAdmin {
  readonly #parts: AdminParts;
  readonly #lines = new Map<string, Line>();

  constructor(parts: AdminParts) {
    this.#parts = parts;
  }

  /** Makes it or changes the one that is there. A namespace is not made here: a mistyped name would be one that nobody uses. */
  async set(actor: Actor, reference: NamespaceReference, numbers: OverrideNumbers): Promise<SetOverride> {
    const namespace = await this.#load(actor, 'ratelimit.set_override', reference);
    const overrideId = await this.#inLine(namespace.id, () => this.#setIn(actor, namespace, numbers));
    return { overrideId, namespaceId: namespace.id };
  }

  async get(actor: Actor, reference: NamespaceReference, identifier: string): Promise<OverrideRecord> {
    const namespace = await this.#load(actor, 'ratelimit.read_override', reference);
    return this.#loadOverride(namespace, identifier);
  }

  async list(actor: Actor, reference: NamespaceReference, query: PageQuery): Promise<OverridePage> {
    const namespace = await this.#load(actor, 'ratelimit.read_override', reference);
    return { namespaceId: namespace.id, ...(await this.#parts.storage.records.listOverrides(namespace.id, query)) };
  }

  async delete(actor: Actor, reference: NamespaceReference, identifier: string): Promise<void> {
    const namespace = await this.#load(actor, 'ratelimit.delete_override', reference);
    await this.#parts.changes.apply(async () => {
      const { id, ...before } = await this.#loadOverride(namespace, identifier);
      const facts = overrideFacts(before);
      const event = auditEvent(actor, { action: 'override.delete', target: id, before: facts, after: null });
      const write = { kind: 'removeOverride', overrideId: id, namespaceId: namespace.id } as const;
      return { change: { writes: [write], accounts: [], events: [event] }, answer: () => undefined };
    });
  }

  #setIn(actor: Actor, namespace: NamespaceRecord, numbers: OverrideNumbers): Promise<string> {
    return this.#parts.changes.apply(() => this.#setting(actor, namespace, numbers));
  }

  async #setting(actor: Actor, namespace: NamespaceRecord, numbers: OverrideNumbers): Promise<Setting> {
    const { records, ledger } = this.#parts.storage;
    const before = await records.findOverride(namespace.id, numbers.identifier);
    if (before !== null) {
      const override: OverrideRecord = { ...before, ...numbers, updatedAtMs: ledger.nowMs() };
      const [was, is] = [overrideFacts(before), overrideFacts(override)];
      const event = auditEvent(actor, { action: 'override.update', target: before.id, before: was, after: is });
      const change: Change = { writes: [{ kind: 'updateOverride', override }], accounts: [], events: [event] };
      return { change, answer: () => before.id };
    }
    const { total } = await records.listOverrides(namespace.id, { limit: 1, after: null });
    if (total >= MAX_OVERRIDES_PER_NAMESPACE) throw tooManyOverrides();
    if (isPattern(numbers.identifier)) await this.#requireRoomForPattern(namespace.id, total);
    return this.#inserting(actor, namespace, numbers);
  }

  /** Read only where there are so many overrides that it may be the bound. */
  async #requireRoomForPattern(namespaceId: string, total: number): Promise<void> {
    if (total < MAX_PATTERNS_PER_NAMESPACE) return;
    const all = await this.#parts.storage.records.listAllOverrides(namespaceId);
    if (all.filter(({ identifier }) => isPattern(identifier)).length >= MAX_PATTERNS_PER_NAMESPACE) {
      throw tooManyPatterns();
    }
  }

  #inserting(actor: Actor, namespace: NamespaceRecord, numbers: OverrideNumbers): Setting {
    const { storage, system } = this.#parts;
    const createdAtMs = storage.ledger.nowMs();
    const id = makeId('ovr', createdAtMs, system.randomBytes(ID_RANDOM_BYTES));
    const override: OverrideRecord = { id, namespaceId: namespace.id, ...numbers, createdAtMs, updatedAtMs: null };
    const after = overrideFacts(override);
    const event = auditEvent(actor, { action: 'override.create', target: id, before: null, after });
    return {
      change: { writes: [{ kind: 'insertOverride', override }], accounts: [], events: [event] },
      answer: () => id,
    };
  }

  /** One at a time in each namespace: the next one sees what this one made, and the bound holds. */
  async #inLine(namespaceId: string, work: () => Promise<string>): Promise<string> {
    const line = this.#lines.get(namespaceId) ?? { last: Promise.resolve(), waiting: 0 };
    if (line.waiting >= MAX_WAITING) {
      throw new AppError('UNAVAILABLE', 'Too many overrides of this namespace wait to be set; nothing was done.');
    }
    this.#lines.set(namespaceId, line);
    line.waiting++;
    const done = line.last.then(work, work);
    line.last = done;
    try {
      return await done;
    } finally {
      line.waiting--;
      if (line.waiting === 0) this.#lines.delete(namespaceId);
    }
  }

  async #load(actor: Actor, deed: Deed, reference: NamespaceReference): Promise<NamespaceRecord> {
    const { records } = this.#parts.storage;
    requireSomewhere(actor, deed);
    const found =
      'id' in reference ? await records.findNamespaceById(reference.id) : await records.findNamespace(reference.name);
    if (found === null || !holdsRight(actor.rights, deed, found.id)) throw missing(reference);
    return found;
  }

  async #loadOverride(namespace: NamespaceRecord, identifier: string): Promise<OverrideRecord> {
    const found = await this.#parts.storage.records.findOverride(namespace.id, identifier);
    if (found !== null) return found;
    throw new AppError('NOT_FOUND', `There is no override for ${repeatable(identifier)} in this namespace.`);
  }
}

/** Those who set an override in one namespace. */
interface Line {
  last: Promise<unknown>;
  waiting: number;
}

interface Setting {
  readonly change: Change;
  readonly answer: () => string;
}

function missing(reference: NamespaceReference): AppError {
  return 'id' in reference ? notFound('namespace', reference.id) : noNamespace(reference.name);
}

function tooManyOverrides(): AppError {
  const most = `${MAX_OVERRIDES_PER_NAMESPACE} overrides, which is the most there can be`;
  return new AppError('PRECONDITION_FAILED', `This namespace has ${most}.`);
}

function overrideFacts(override: Omit<OverrideRecord, 'id'>): Record<string, unknown> {
  const { namespaceId, identifier, limit, durationMs, async } = override;
  return { namespaceId, identifier, limit, duration: durationMs, async };
}

function tooManyPatterns(): AppError {
  const most = `${MAX_PATTERNS_PER_NAMESPACE} overrides with a star, which is the most there can be`;
  return new AppError('PRECONDITION_FAILED', `This namespace has ${most}.`);
}
