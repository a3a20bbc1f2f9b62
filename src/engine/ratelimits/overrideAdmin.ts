import { MAX_OVERRIDES_PER_NAMESPACE, MAX_PATTERNS_PER_NAMESPACE } from '../../core/bounds.ts';
import { AppError, notFound, repeatable } from '../../core/errors.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { holdsRight, type Operation } from '../../core/rights.ts';
import { auditEntry } from '../admin/audit.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';
import { type Actor, requireSomewhere } from '../admin/change/requireRight.ts';
import { noNamespace } from './namespaces.ts';
import { OneAtATime } from '../fairTurns.ts';
import type { NamespaceRecord, OverrideRecord } from '../../model/overrides.ts';
import type { Page, PageQuery } from '../../storage/port/records.ts';
import type { Change } from '../../storage/port/storage.ts';

export type NamespaceReference = { readonly id: string } | { readonly name: string };

type OverrideNumbers = Pick<OverrideRecord, 'identifier' | 'limit' | 'durationMs' | 'async'>;

interface SetOverride {
  readonly overrideId: string;
  readonly namespaceId: string;
}

type OverridePage = Page<OverrideRecord> & { readonly namespaceId: string };

/** Manages overrides: other numbers for some identifiers of a namespace. */
export class OverrideAdmin {
  readonly #context: AdminContext;
  /** One at a time of each namespace: those with a star share a revision, so each round of many would let only one through. */
  readonly #oneAtATime = new OneAtATime(
    'Too many changes of the overrides of this namespace are waiting; nothing was changed. Try again.',
  );

  constructor(context: AdminContext) {
    this.#context = context;
  }

  /** Creates or changes an override. It creates no namespace: a mistyped name would make one that nobody uses. */
  async set(actor: Actor, reference: NamespaceReference, numbers: OverrideNumbers): Promise<SetOverride> {
    const { id: namespaceId } = await this.#load(actor, 'ratelimit.set_override', reference);
    const setting = (): Promise<string> =>
      this.#context.changes.apply(async () =>
        this.#setting(actor, await this.#load(actor, 'ratelimit.set_override', reference), numbers),
      );
    return { overrideId: await this.#oneAtATime.run(namespaceId, setting), namespaceId };
  }

  async get(actor: Actor, reference: NamespaceReference, identifier: string): Promise<OverrideRecord> {
    const namespace = await this.#load(actor, 'ratelimit.read_override', reference);
    return this.#loadOverride(namespace, identifier);
  }

  async list(actor: Actor, reference: NamespaceReference, query: PageQuery): Promise<OverridePage> {
    const namespace = await this.#load(actor, 'ratelimit.read_override', reference);
    return { namespaceId: namespace.id, ...(await this.#context.storage.records.listOverrides(namespace.id, query)) };
  }

  async delete(actor: Actor, reference: NamespaceReference, identifier: string): Promise<void> {
    await this.#context.changes.apply(async () => {
      const namespace = await this.#load(actor, 'ratelimit.delete_override', reference);
      const override = await this.#loadOverride(namespace, identifier);
      const facts = auditedOverride(override);
      const entry = auditEntry(actor, { action: 'override.delete', target: override.id, before: facts, after: null });
      const write = { kind: 'removeOverride', override, expectPatterns: namespace.patternsRevision } as const;
      return { change: { writes: [write], accounts: [], entries: [entry] }, answer: () => undefined };
    });
  }

  async #setting(actor: Actor, namespace: NamespaceRecord, numbers: OverrideNumbers): Promise<Setting> {
    const { records, ledger } = this.#context.storage;
    const before = await records.findOverride(namespace.id, numbers.identifier);
    if (before !== null) {
      const revised = { updatedAtMs: ledger.nowMs(), revision: before.revision + 1 };
      const override: OverrideRecord = { ...before, ...numbers, ...revised };
      const [was, is] = [auditedOverride(before), auditedOverride(override)];
      const entry = auditEntry(actor, { action: 'override.update', target: before.id, before: was, after: is });
      const expected = { expect: before.revision, expectPatterns: namespace.patternsRevision };
      const write = { kind: 'updateOverride', override, ...expected } as const;
      return { change: { writes: [write], accounts: [], entries: [entry] }, answer: () => before.id };
    }
    const { total } = await records.listOverrides(namespace.id, { limit: 1, after: null });
    if (total >= MAX_OVERRIDES_PER_NAMESPACE) throw tooManyOverrides();
    // The revision of the patterns, which was read before, refuses a pattern that is counted at the same time as another one is made.
    if (isPattern(numbers.identifier)) await this.#refuseTooManyPatterns(namespace.id, total);
    return this.#inserting(actor, namespace, numbers);
  }

  /** The overrides are read only when there are so many that the bound may be reached. */
  async #refuseTooManyPatterns(namespaceId: string, total: number): Promise<void> {
    if (total < MAX_PATTERNS_PER_NAMESPACE) return;
    const all = await this.#context.storage.records.listAllOverrides(namespaceId);
    if (all.filter(({ identifier }) => isPattern(identifier)).length >= MAX_PATTERNS_PER_NAMESPACE) {
      throw tooManyPatterns();
    }
  }

  #inserting(actor: Actor, namespace: NamespaceRecord, numbers: OverrideNumbers): Setting {
    const { storage, system } = this.#context;
    const createdAtMs = storage.ledger.nowMs();
    const id = makeId('ovr', createdAtMs, system.randomBytes(ID_RANDOM_BYTES));
    const made = { createdAtMs, updatedAtMs: null, revision: 0 };
    const override: OverrideRecord = { id, namespaceId: namespace.id, ...numbers, ...made };
    const after = auditedOverride(override);
    const entry = auditEntry(actor, { action: 'override.create', target: id, before: null, after });
    const writes = [
      { kind: 'insertOverride', override, expectPatterns: namespace.patternsRevision },
      { kind: 'requireAtMost', what: 'overrides', of: namespace.id, most: MAX_OVERRIDES_PER_NAMESPACE },
    ] as const;
    return { change: { writes, accounts: [], entries: [entry] }, answer: () => id };
  }

  async #load(actor: Actor, operation: Operation, reference: NamespaceReference): Promise<NamespaceRecord> {
    const { records } = this.#context.storage;
    requireSomewhere(actor, operation);
    const found =
      'id' in reference ? await records.findNamespaceById(reference.id) : await records.findNamespace(reference.name);
    if (found === null || !holdsRight(actor.rights, operation, found.id)) throw missing(reference);
    return found;
  }

  async #loadOverride(namespace: NamespaceRecord, identifier: string): Promise<OverrideRecord> {
    const found = await this.#context.storage.records.findOverride(namespace.id, identifier);
    if (found !== null) return found;
    throw new AppError('NOT_FOUND', `There is no override for ${repeatable(identifier)} in this namespace.`);
  }
}

interface Setting {
  readonly change: Change;
  readonly answer: () => string;
}

function missing(reference: NamespaceReference): AppError {
  return 'id' in reference ? notFound('namespace', reference.id) : noNamespace(reference.name);
}

function tooManyOverrides(): AppError {
  const most = `${MAX_OVERRIDES_PER_NAMESPACE} overrides, which is the maximum`;
  return new AppError('PRECONDITION_FAILED', `This namespace has ${most}. Delete some first.`);
}

function auditedOverride(override: Omit<OverrideRecord, 'id'>): Record<string, unknown> {
  const { namespaceId, identifier, limit, durationMs, async } = override;
  return { namespaceId, identifier, limit, duration: durationMs, async };
}

function tooManyPatterns(): AppError {
  const most = `${MAX_PATTERNS_PER_NAMESPACE} overrides with a star, which is the maximum`;
  return new AppError('PRECONDITION_FAILED', `This namespace has ${most}. Delete some first.`);
}
