import type { QueryConfig } from 'pg';

import type { Spend } from '../../../core/spend.ts';
import type { AuditEntry } from '../../port/auditEntries.ts';
import type { NewEvent } from '../../port/events.ts';
import type { Change } from '../../port/storage.ts';
import type { RecordChange } from '../../port/freshness.ts';
import { endsNotes, recordChangeOf } from '../../port/writes.ts';
import { insertQuery } from '../connection/binaryLists.ts';

/** The channel that notifies nodes of a change. A notification only makes them poll at once: the numbered table is authoritative. */
export const CHANNEL = 'keystile_changes';

/** Records that nodes drop, except keys and root keys, which have their own columns. */
export interface Subjects {
  readonly apis: readonly string[];
  readonly identities: readonly string[];
  readonly plans: readonly string[];
  readonly namespaces: readonly string[];
  readonly rbac: boolean;
}

const NUMBER_CHANGE = `WITH next AS (UPDATE change_counter SET number = number + 1,
      token = CASE WHEN $5::boolean THEN gen_random_uuid()::text ELSE token END RETURNING number),
    noted AS (INSERT INTO changes (number, at_ms, keys, root_keys, subjects)
      SELECT number, $1::bigint, $2::text[], $3::boolean, $4::text FROM next RETURNING number)
    SELECT pg_notify('${CHANNEL}', number::text) FROM noted`;

const SEQUENCE_EVENTS = `WITH next AS (
      UPDATE event_counter SET sequence = sequence + $1::bigint RETURNING sequence - $1::bigint AS last)
    INSERT INTO events (sequence, id, type, at_ms, data)
      SELECT next.last + e.ordinal, e.id, e.type, $2::bigint, e.data
      FROM next, unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS e (id, type, data, ordinal)`;

const ENTRIES = {
  table: 'audit_entries',
  columns: ['at_ms', 'actor', 'action', 'target', 'before_json', 'after_json', 'origin', 'request_id', 'via'],
};

/**
 * The queries that number a change of cached records and write its audit entries and events. They are sent together with the commit. The
 * row of the counter is locked only from there on, so the numbers follow the order of commits, and no other change waits for a round trip
 * of this node. A change of records that no node caches takes no number and notifies nobody.
 */
export function noteChange({ writes, entries = [], events = [] }: Change, nowMs: number): QueryConfig[] {
  const changed = recordChangeOf(writes);
  const queries: QueryConfig[] = [];
  // The counter comes first, so that entries of numbered changes are also in the order of their commits. All changes take the two counters
  // in this order, so that none ends in a deadlock.
  if (changed !== null) queries.push(numbered(changed, endsNotes(writes), nowMs));
  if (entries.length > 0) queries.push(logged(entries, nowMs));
  if (events.length > 0) queries.push(sequenced(events, nowMs));
  return queries;
}

/** One row for each commit, whatever it contains: a node that finds too many rows between two polls drops its whole cache. */
function numbered({ keys, rootKeys, ...others }: RecordChange, ends: boolean, nowMs: number): QueryConfig {
  const { apis, identities, plans, namespaces, rbac } = others;
  const subjects = JSON.stringify({ apis, identities, plans, namespaces, rbac } satisfies Subjects);
  return { name: 'number_change', text: NUMBER_CHANGE, values: [nowMs, keys ?? [], rootKeys, subjects, ends] };
}

function logged(entries: readonly AuditEntry[], nowMs: number): QueryConfig {
  const rows = entries.map(({ actor, action, target, before, after, origin, requestId, via }) => {
    return [nowMs, actor, action, target, before, after, origin, requestId, via];
  });
  return insertQuery({ into: ENTRIES, rows });
}

/**
 * The transaction that locks the row of the counter takes the next sequences, and keeps the lock until its commit is visible. So a reader
 * that has seen a sequence has seen all lower ones: an event with a lower one cannot become visible later. An identity column does not
 * guarantee that, because its numbers follow the order of the inserts. These are the last statements before COMMIT, because every change
 * with an event waits for the row.
 */
function sequenced(events: readonly NewEvent[], nowMs: number): QueryConfig {
  const column = (of: (event: NewEvent) => string): string[] => events.map(of);
  const values = [events.length, nowMs, column(({ id }) => id), column(({ type }) => type), column(({ data }) => data)];
  return { name: 'sequence_events', text: SEQUENCE_EVENTS, values };
}

/**
 * The last change of records that this node has seen. Spends rely on it: while the database still has the same token, no record has changed
 * since. So records that were compared after that change need not be compared again.
 */
export class SeenChange {
  /** null = none was seen yet, or there was another change since. */
  #token: string | null = null;
  /** Counts the changes that were seen, beginning at 1. A note holds this number. */
  #sequence = 0;

  see(token: string): void {
    if (this.#token === token) return;
    this.#token = token;
    this.#sequence++;
  }

  /** The database has a different token from the one that was seen under this number. Until that is seen, no spend relies on a note. */
  outdate(sequence: number): void {
    if (this.#sequence === sequence) this.#token = null;
  }

  get token(): string | null {
    return this.#token;
  }

  /** 0 = a note that is made now would not count. */
  get sequence(): number {
    return this.#token === null ? 0 : this.#sequence;
  }

  /** Whether the records that decided this spend were compared after the last change that was seen. */
  covers({ note }: Spend): boolean {
    return note !== undefined && this.#token !== null && note.checkedAt === this.#sequence;
  }
}
