import { AppError, repeatable } from '../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { NamespaceRecord } from '../../core/records.ts';
import { ALL_RIGHTS, type Operation, holdsRight } from '../../core/rights.ts';
import type { AuditEvent } from '../../storage/port/events.ts';
import type { RecordWrite } from '../../storage/port/records.ts';
import type { NamespaceEntry, Namespaces } from './namespaces.ts';
import type { Actor } from '../admin/change/actor.ts';
import { auditEvent } from '../admin/audit/auditEvent.ts';
import type { AdminContext } from '../admin/change/adminContext.ts';

/** How often it is looked again whether somebody else has made it. */
const MAX_TRIES = 5;

interface NewNamespace {
  readonly write: RecordWrite;
  readonly event: AuditEvent;
}

/** Makes namespaces where they are first used. */
export class CreateNamespace {
  readonly #context: AdminContext;
  readonly #namespaces: Namespaces;
  readonly #creating = new Map<string, Promise<NamespaceEntry>>();

  constructor(context: AdminContext, namespaces: Namespaces) {
    this.#context = context;
    this.#namespaces = namespaces;
  }

  /** Once for all who wait for it; refused when there are as many as there may be. */
  async create(actor: Actor, name: string): Promise<NamespaceEntry> {
    let making = this.#creating.get(name);
    if (making === undefined) {
      making = this.#context.quotas
        .creating('namespaces', 1, () => this.#create(actor, name))
        .finally(() => this.#creating.delete(name));
      this.#creating.set(name, making);
    }
    return making;
  }

  /** What has to be written for a new one. */
  #draft(actor: Actor, name: string): NewNamespace {
    const { storage, system } = this.#context;
    const createdAtMs = storage.ledger.nowMs();
    const id = makeId('ns', createdAtMs, system.randomBytes(ID_RANDOM_BYTES));
    const namespace: NamespaceRecord = { id, name, patternsRevision: 0, createdAtMs };
    const event = auditEvent(actor, { action: 'namespace.create', target: id, before: null, after: { name } });
    return { write: { kind: 'insertNamespace', namespace }, event };
  }

  async #create(actor: Actor, name: string): Promise<NamespaceEntry> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { write, event } = this.#draft(actor, name);
      // Another node may have been first: then it is found.
      await this.#context.changes.tryOnce({ writes: [write], accounts: [], events: [event] });
      const found = await this.#namespaces.find(name);
      if (found !== null) return found;
    }
    throw new AppError('UNAVAILABLE', 'The namespace could not be made; nothing was done.');
  }
}

/** Who may do this in a namespace that there is not may make it, if the right to make one is held too. */
export function mayCreate(actor: Actor, operation: Operation): boolean {
  return [operation, 'ratelimit.create_namespace' as const].every((each) => holdsRight(actor.rights, each, ALL_RIGHTS));
}

/** The same for one that there is not and one that this root key may not see. */
export function noNamespace(name: string): AppError {
  return new AppError('NOT_FOUND', `There is no namespace ${repeatable(name)}, or this root key may not see it.`);
}
