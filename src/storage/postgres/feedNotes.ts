import { escapeLiteral } from 'pg';

import { feedChangeOf } from '../feedPort.ts';
import type { Change } from '../port.ts';

/** The channel on which nodes hear that something changed. It is the fast way; what counts is the numbered table. */
export const CHANNEL = 'keystile_changes';

/** What nodes drop beside keys and root keys, which have columns of their own. */
export interface Subjects {
  readonly apis: readonly string[];
  readonly identities: readonly string[];
  readonly namespaces: readonly string[];
  readonly rbac: boolean;
}

/**
 * The statement that numbers a change: what it touches of what nodes keep in memory, and what it tells the audit log. It is
 * sent together with the commit: the counter row is held from there on, so that the numbers follow the order of commits, and
 * no other change waits for a round trip of this node.
 */
export function noteChange({ writes, events = [] }: Change, nowMs: number): string {
  const feed = feedChangeOf(writes);
  if (feed === null && events.length === 0) return '';
  const { keys = [], rootKeys = false } = feed ?? {};
  const { apis = [], identities = [], namespaces = [], rbac = false } = feed ?? {};
  const subjects = JSON.stringify({ apis, identities, namespaces, rbac } satisfies Subjects);
  // The first row tells the nodes; each event has a row of its own.
  const rows = Array.from({ length: Math.max(1, events.length) }, (_, i) => {
    const event = events[i];
    const told =
      i === 0 ? [textArray(keys ?? []), String(rootKeys), text(subjects)] : ["'{}'::text[]", 'false', 'NULL'];
    const logged = [event?.actor, event?.action, event?.target, event?.before, event?.after, event?.origin];
    return `(${[i, ...told, ...[...logged, event?.requestId].map((each) => `${text(each ?? null)}::text`)].join(', ')})`;
  });
  return `WITH next AS (UPDATE change_counter SET number = number + ${rows.length} RETURNING number),
    noted AS (INSERT INTO changes
        (number, at_ms, keys, root_keys, subjects, actor, action, target, before_json, after_json, origin, request_id)
      SELECT next.number - ${rows.length - 1} + v.place, ${nowMs}, v.keys, v.root_keys, v.subjects,
        v.actor, v.action, v.target, v.before_json, v.after_json, v.origin, v.request_id
      FROM next, (VALUES ${rows.join(', ')})
        AS v(place, keys, root_keys, subjects, actor, action, target, before_json, after_json, origin, request_id)
      RETURNING number)
    SELECT pg_notify('${CHANNEL}', max(number)::text) FROM noted;`;
}

function text(value: string | null): string {
  return value === null ? 'NULL' : escapeLiteral(value);
}

function textArray(values: readonly string[]): string {
  return `ARRAY[${values.map((value) => escapeLiteral(value)).join(', ')}]::text[]`;
}
