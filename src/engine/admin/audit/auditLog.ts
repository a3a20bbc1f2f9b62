import type { EntryQuery, StoredEntry } from '../../../storage/port/auditEntries.ts';
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
    query: EntryQuery,
  ): Promise<{ readonly entries: readonly StoredEntry[]; readonly cursor: number | null }> {
    requireEverywhere(actor, 'root.read_audit');
    return this.#records.listEntries(query);
  }
}
