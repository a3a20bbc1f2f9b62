import type { EventQuery, StoredEvent } from '../../../storage/port/events.ts';
import type { Records } from '../../../storage/port/records.ts';
import { requireEverywhere } from '../change/requireRight.ts';
import type { Actor } from '../change/actor.ts';

/** Reads the audit log. */
export class AuditLog {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Newest first. The log covers all apis, so reading it needs the right on everything. */
  async list(
    actor: Actor,
    query: EventQuery,
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly cursor: number | null }> {
    requireEverywhere(actor, 'root.read_audit');
    return this.#records.listEvents(query);
  }
}
