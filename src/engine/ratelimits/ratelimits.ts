import { AppError } from '../../core/errors.ts';
import { type Fence, noOverrideFence, patternsFence, recordFence } from '../../core/fence.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import { holdsRight } from '../../core/rights.ts';
import { auditEntry } from '../admin/audit.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';
import { type Actor, requireSomewhere } from '../admin/change/requireRight.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import { LimitDecider, type LimitResult, type StandaloneLimit } from './limitDecider.ts';
import { CreateNamespace, mayCreate, type NamespaceEntry, Namespaces, noNamespace, overrideFor } from './namespaces.ts';
import { OverrideAdmin } from './overrideAdmin.ts';
import { StrictWindows } from './strictWindows.ts';
import type { AuditEntry } from '../../storage/port/auditEntries.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../../storage/port/storage.ts';

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
  readonly localLimits: LocalLimits;
  readonly maxPerNamespace: number;
  /** Why the service has stopped answering; null while it answers. */
  readonly stoppedBecause: () => string | null;
}

/** All parts of standalone limits. */
export interface Ratelimits {
  readonly namespaces: Namespaces;
  readonly limits: NamespaceLimits;
  readonly overrides: OverrideAdmin;
}

export function makeRatelimits(admin: AdminContext, options: RatelimitsOptions): Ratelimits {
  const { localLimits, maxPerNamespace, stoppedBecause } = options;
  const { ledger, records } = admin.storage;
  const windows = new StrictWindows({ ledger, maxPerNamespace, isShared: admin.storage.localCounts.isShared });
  const decider = new LimitDecider({ localLimits, ledger, windows, stoppedBecause });
  const namespaces = new Namespaces(records);
  const making = new CreateNamespace(admin, namespaces);
  return {
    namespaces,
    limits: new NamespaceLimits({ admin, namespaces, createNamespace: making, decider }),
    overrides: new OverrideAdmin(admin),
  };
}
