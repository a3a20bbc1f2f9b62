import { escapeLiteral } from 'pg';

import { recordChangeOf } from '../../port/writeEffects.ts';
import type { RecordChange } from '../../port/freshness.ts';
import type { Change } from '../../port/storage.ts';
import type { AuditEntry } from '../../port/auditEntries.ts';
import type { NewEvent } from '../../port/events.ts';

/** The channel that notifies nodes of a change. It only makes them poll at once: the numbered table is what counts. */
export const CHANNEL = 'keystile_changes';

/** Records that nodes drop, besides keys and root keys, which have columns of their own. */
export interface Subjects {
  readonly apis: readonly string[];
  readonly identities: readonly string[];
  readonly namespaces: readonly string[];
  readonly rbac: boolean;
}

/**
 * The statements that write down what a change touches of what nodes keep in memory, and what it tells the audit log. They are
 * sent together with the commit: the counter row is held from there on, so that the numbers follow the order of commits, and
 * no other change waits for a round trip of this node. A change of nothing that is kept takes no number and notifies nobody.
 */
export function noteChange({ writes, entries = [], events = [] }: Change, nowMs: number): string {
  const changed = recordChangeOf(writes);
  // The counter first: entries of changes with a number are then in the order of their commits as well. All changes take the two
  // counters in this order, so that none ends in a deadlock.
  return `${changed === null ? '' : numbered(changed, nowMs)} ${logged(entries, nowMs)} ${sequenced(events, nowMs)}`;
}

/** One row for each change, whatever it contains: a node that finds too many rows between two polls drops all that it keeps. */
function numbered({ keys, rootKeys, ...others }: RecordChange, nowMs: number): string {
  const { apis, identities, namespaces, rbac } = others;
  const subjects = JSON.stringify({ apis, identities, namespaces, rbac } satisfies Subjects);
  return `WITH next AS (UPDATE change_counter SET number = number + 1 RETURNING number),
    noted AS (INSERT INTO changes (number, at_ms, keys, root_keys, subjects)
      SELECT number, ${nowMs}, ${textArray(keys ?? [])}, ${rootKeys}, ${text(subjects)} FROM next RETURNING number)
    SELECT pg_notify('${CHANNEL}', number::text) FROM noted;`;
}

function logged(entries: readonly AuditEntry[], nowMs: number): string {
  if (entries.length === 0) return '';
  const rows = entries.map(({ actor, action, target, before, after, origin, requestId }) => {
    const values = [actor, action, target, before, after, origin, requestId].map(text);
    return `(${[nowMs, ...values].join(', ')})`;
  });
  return `INSERT INTO audit_entries (at_ms, actor, action, target, before_json, after_json, origin, request_id)
    VALUES ${rows.join(', ')};`;
}

/**
 * Whoever holds the row of the counter gives the next sequences, and holds it until its commit is visible. So a reader that has seen a
 * sequence has seen all lower ones: an event with a lower one cannot become visible later. An identity column could not say that, because
 * its numbers are given in the order of the inserts. These are the last statements before COMMIT, because every change with an event waits
 * for the row.
 */
function sequenced(events: readonly NewEvent[], nowMs: number): string {
  if (events.length === 0) return '';
  const rows = events.map(({ id, type, data }, i) => `(${i + 1}, ${[id, type, data].map(text).join(', ')})`);
  return `WITH next AS (
      UPDATE event_counter SET sequence = sequence + ${events.length} RETURNING sequence - ${events.length} AS last)
    INSERT INTO events (sequence, id, type, at_ms, data)
      SELECT next.last + e.place, e.id, e.type, ${nowMs}, e.data FROM next, (VALUES ${rows.join(', ')}) AS e (place, id, type, data);`;
}

function text(value: string | null): string {
  return value === null ? 'NULL' : escapeLiteral(value);
}

function textArray(values: readonly string[]): string {
  return `ARRAY[${values.map((value) => escapeLiteral(value)).join(', ')}]::text[]`;
}
