import { AppError, notFound, repeatable } from '../../core/errors.ts';
import { type Fence, noOverrideFence, patternsFence, recordFence } from '../../core/fence.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import { holdsRight, type Operation } from '../../core/rights.ts';
import { auditEntry } from '../admin/audit.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';
import { type Actor, requireSomewhere } from '../admin/change/requireRight.ts';
import type { LocalLimits } from '../localLimits.ts';
import { LimitDecider, type LimitResult, type StandaloneLimit, StrictWindows } from './limitDecider.ts';
import { CreateNamespace, mayCreate, type NamespaceEntry, Namespaces, noNamespace, overrideFor } from './namespaces.ts';
import type { AuditEntry } from '../../storage/port/auditEntries.ts';
import { StorageOutcomeUnknown, StorageUnavailable, type Change } from '../../storage/port/storage.ts';
import { MAX_OVERRIDES_PER_NAMESPACE, MAX_PATTERNS_PER_NAMESPACE } from '../../core/bounds.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import { OneAtATime } from '../fairTurns.ts';
import type { NamespaceRecord, OverrideRecord } from '../../model/overrides.ts';
import type { Page, PageQuery } from '../../storage/port/records.ts';

/** How often a request reads overrides again that changed meanwhile, before it gives up. */
const MAX_RELOADS = 2;

/** A resource that a limited request concerns, for the audit log. */
interface LimitedResource {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
  readonly meta?: object;
}

export interface StandaloneRequest {
  readonly namespace: string;
  readonly identifier: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  readonly cost: number;
  readonly resources: readonly LimitedResource[];
}

interface StandaloneContext {
  readonly admin: AdminContext;
  readonly namespaces: Namespaces;
  readonly createNamespace: CreateNamespace;
  readonly decider: LimitDecider;
}

/** Limits that belong to no key. The caller names a namespace and an identifier. */
class NamespaceLimits {
  readonly #context: StandaloneContext;

  constructor(context: StandaloneContext) {
    this.#context = context;
  }

  /** Takes all limits or none. The results are in the order of the requests. */
  async limit(actor: Actor, requests: readonly StandaloneRequest[]): Promise<readonly LimitResult[]> {
    const { freshness } = this.#context.admin.storage;
    requireSomewhere(actor, 'ratelimit.limit');
    // The cached overrides may be too old. Freshness asks the database once for all callers that wait.
    if (!freshness.mayUseCache()) await freshness.confirm();
    for (let reloads = 0; reloads <= MAX_RELOADS; reloads++) {
      const entries = await this.#entries(actor, [...new Set(requests.map(({ namespace }) => namespace))]);
      const limits = await this.#applied(actor, requests, entries);
      const results = await this.#context.decider.decide(limits);
      if (results !== null) {
        await this.#writeDown(actor, requests, limits, results);
        return results;
      }
      for (const { id } of entries.values()) this.#context.namespaces.drop(id);
    }
    throw new AppError('UNAVAILABLE', 'The overrides of these limits keep changing; nothing was counted. Try again.');
  }

  /** Each request is compared with the patterns of its namespace: with a hundred of them, others have their turns in between. */
  async #applied(
    { id: client }: Actor,
    requests: readonly StandaloneRequest[],
    entries: ReadonlyMap<string, NamespaceEntry>,
  ): Promise<StandaloneLimit[]> {
    const applyTo = (request: StandaloneRequest) => applied(request, entries.get(request.namespace));
    if (requests.length === 1) return requests.map(applyTo);
    const limits: StandaloneLimit[] = [];
    await this.#context.admin.turns.each(client, requests, (request) => limits.push(applyTo(request)));
    return limits;
  }

  /** Creates no namespace before it is certain that the root key may use all of them. */
  async #entries(actor: Actor, names: readonly string[]): Promise<ReadonlyMap<string, NamespaceEntry>> {
    const { namespaces, createNamespace: making } = this.#context;
    const found = await Promise.all(names.map((name) => namespaces.find(name)));
    for (const [i, name] of names.entries()) {
      const entry = found[i] ?? null;
      const isAllowed =
        entry === null ? mayCreate(actor, 'ratelimit.limit') : holdsRight(actor.rights, 'ratelimit.limit', entry.id);
      if (!isAllowed) throw noNamespace(name);
    }
    const entries = await Promise.all(names.map(async (name, i) => found[i] ?? making.create(actor, name)));
    return new Map(entries.map((entry) => [entry.name, entry]));
  }

  /** Writes the resources to the audit log. The limits are decided by then: a failure here does not undo them. */
  async #writeDown(
    actor: Actor,
    requests: readonly StandaloneRequest[],
    limits: readonly StandaloneLimit[],
    results: readonly LimitResult[],
  ): Promise<void> {
    const success = results.every((result) => result.success);
    const entries: AuditEntry[] = requests.flatMap(({ identifier, resources }, i) => {
      if (resources.length === 0) return [];
      const after = { identifier, success, resources };
      const target = limits[i]?.namespaceId ?? '';
      return auditEntry(actor, { action: 'ratelimit.limit', target, before: null, after });
    });
    if (entries.length === 0) return;
    try {
      await this.#context.admin.changes.applyOnce({ writes: [], accounts: [], entries });
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      throw new StorageOutcomeUnknown('The limit was decided and counted, but not written to the audit log.');
    }
  }
}

/** An override replaces all numbers of the request except its cost. */
function applied(request: StandaloneRequest, entry: NamespaceEntry | undefined): StandaloneLimit {
  if (entry === undefined) throw new Error('a namespace was not looked up');
  const { identifier, cost } = request;
  const { limit, durationMs, async } = overrideFor(entry, identifier) ?? request;
  return {
    namespaceId: entry.id,
    identifier,
    limit,
    durationMs,
    async,
    cost,
    fences: overrideFences(entry, identifier),
  };
}

/**
 * The records that decided the numbers of a standalone limit: the override of its identifier; without one, the fact that there is
 * none, and the patterns of the namespace.
 */
function overrideFences({ id, exact, patternsRevision }: NamespaceEntry, identifier: string): readonly Fence[] {
  const override = exact.get(identifier);
  if (override !== undefined) return [recordFence('override', override.id, override.revision)];
  const patterns = patternsFence(id, patternsRevision);
  // The own override of an identifier with a star would be a pattern, which the patterns fence covers.
  return isPattern(identifier) ? [patterns] : [noOverrideFence(id, identifier), patterns];
}

interface RatelimitsOptions {
  readonly memory: { readonly localLimits: LocalLimits; readonly namespaces: Namespaces };
  readonly maxPerNamespace: number;
  /** Why the service has stopped answering; null while it answers. */
  readonly stoppedBecause: () => string | null;
}

/** All parts of standalone limits. */
interface Ratelimits {
  readonly limits: NamespaceLimits;
  readonly overrides: OverrideAdmin;
}

export function makeRatelimits(admin: AdminContext, options: RatelimitsOptions): Ratelimits {
  const { memory, maxPerNamespace, stoppedBecause } = options;
  const { localLimits, namespaces } = memory;
  const { ledger } = admin.storage;
  const windows = new StrictWindows({ ledger, maxPerNamespace, isShared: admin.storage.localCounts.isShared });
  const decider = new LimitDecider({ localLimits, ledger, windows, stoppedBecause });
  const making = new CreateNamespace(admin, namespaces);
  return {
    limits: new NamespaceLimits({ admin, namespaces, createNamespace: making, decider }),
    overrides: new OverrideAdmin(admin),
  };
}

export type NamespaceReference = { readonly id: string } | { readonly name: string };

type OverrideNumbers = Pick<OverrideRecord, 'identifier' | 'limit' | 'durationMs' | 'async'>;

interface SetOverride {
  readonly overrideId: string;
  readonly namespaceId: string;
}

type OverridePage = Page<OverrideRecord> & { readonly namespaceId: string };

/** Manages overrides: other numbers for some identifiers of a namespace. */
class OverrideAdmin {
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
