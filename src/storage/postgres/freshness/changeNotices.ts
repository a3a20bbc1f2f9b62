import { escapeLiteral } from 'pg';

import { recordChangeOf } from '../../port/writeEffects.ts';
import type { RecordChange } from '../../port/freshness.ts';
import type { Change } from '../../port/storage.ts';
import type { AuditEntry } from '../../port/auditEntries.ts';

/** The channel that notifies nodes of a change. It only makes them poll at once: the numbered table is what counts. */
export const CHANNEL = 'keystile_changes';

/** Records that nodes drop, besides keys and root keys, which have columns of their own. */
export interface Subjects {
  readonly apis: readonly string[];
  readonly identities: readonly string[];
  readonly plans: readonly string[];
  readonly namespaces: readonly string[];
  readonly rbac: boolean;
}

/**
 * The statements that write down what a change touches of what nodes keep in memory, and what it tells the audit log. They are
 * sent together with the commit: the counter row is held from there on, so that the numbers follow the order of commits, and
 * no other change waits for a round trip of this node. A change of nothing that is kept takes no number and notifies nobody.
 */
export function noteChange({ writes, entries = [] }: Change, nowMs: number): string {
  const changed = recordChangeOf(writes);
  // The counter first: entries of changes with a number are then in the order of their commits as well.
  return `${changed === null ? '' : numbered(changed, nowMs)} ${logged(entries, nowMs)}`;
}

/** One row for each change, whatever it contains: a node that finds too many rows between two polls drops all that it keeps. */
function numbered({ keys, rootKeys, ...others }: RecordChange, nowMs: number): string {
  const { apis, identities, plans, namespaces, rbac } = others;
  const subjects = JSON.stringify({ apis, identities, plans, namespaces, rbac } satisfies Subjects);
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

function text(value: string | null): string {
  return value === null ? 'NULL' : escapeLiteral(value);
}

function textArray(values: readonly string[]): string {
  return `ARRAY[${values.map((value) => escapeLiteral(value)).join(', ')}]::text[]`;
}
