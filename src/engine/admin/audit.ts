import { type Actor, requireEverywhere } from './change/requireRight.ts';
import type { AuditEntry, EntryQuery, StoredEntry } from '../../storage/port/auditEntries.ts';
import type { Records } from '../../storage/port/records.ts';

type Facts = Readonly<Record<string, unknown>>;

interface EntryInput {
  /** `key.create`, `api.update`, ... */
  readonly action: string;
  readonly target: string;
  /** null: the record did not exist before, or does not exist afterwards. */
  readonly before: Facts | null;
  readonly after: Facts | null;
  /** Writes `before` and `after` completely, not only the members that differ. */
  readonly isWhole?: true;
  /** Index of the counter whose balance the ledger adds; negative or absent = none. See AuditEntry. */
  readonly counter?: number;
  /** Ids of records that the target belongs to, for the event of the change. See AuditEntry. */
  readonly ids?: Readonly<Record<string, string>>;
}

/** Makes one entry of the audit log. For a change, it holds only the members that differ, before and after. */
export function auditEntry(
  actor: Actor,
  { action, target, before, after, isWhole, counter, ids }: EntryInput,
): AuditEntry {
  const isChange = isWhole !== true && before !== null && after !== null;
  return {
    actor: actor.id,
    action,
    target,
    before: before === null ? null : JSON.stringify(isChange ? differing(before, after) : membersSet(before)),
    after: after === null ? null : JSON.stringify(isChange ? differing(after, before) : membersSet(after)),
    origin: actor.origin,
    requestId: actor.requestId,
    via: actor.via ?? null,
    ...(counter === undefined || counter < 0 ? {} : { counter }),
    ...(ids === undefined ? {} : { ids }),
  };
}

/** The members whose value differs in the other. */
function differing(facts: Facts, other: Facts): Facts {
  const entries = Object.entries(facts).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(other[name]),
  );
  return Object.fromEntries(entries);
}

/** The members that are set: not null, and not an empty list or object. */
function membersSet(facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => !isNothing(value)));
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

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
