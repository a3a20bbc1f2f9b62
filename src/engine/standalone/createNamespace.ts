import { AppError, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { NamespaceRecord } from '../../model/overrides.ts';
import { ALL_RIGHTS, type Operation, holdsRight } from '../../core/rights.ts';
import type { AuditEntry } from '../../storage/port/auditEntries.ts';
import type { RecordWrite } from '../../storage/port/writes.ts';
import type { NamespaceEntry, Namespaces } from './namespaces.ts';
import type { Actor } from '../admin/change/actor.ts';
import { auditEntry } from '../admin/audit/auditEntry.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';
import type { KeepQuota } from '../admin/change/quotas.ts';

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
