import type { EventQuery, StoredEvent } from '../../storage/eventsPort.ts';
import type { Records } from '../../storage/recordsPort.ts';
import { requireEverywhere } from './access.ts';
import type { Actor } from './actor.ts';

/** What was done, for those who may know. */
export class AuditLog {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Newest first. It tells of all apis: the right to it is on everything. */
  async list(
    actor: Actor,
    query: EventQuery,
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly cursor: number | null }> {
    requireEverywhere(actor, 'root.read_audit');
    return this.#records.listEvents(query);
  }
}
