import type { RecordChange } from '../../port/freshness.ts';
import { DURABILITY_COLUMNS, type DurabilityFacts } from '../connection/durability.ts';
import { IS_MOVED } from '../connection/movedFence.ts';
import { IS_OWN_SESSION } from '../connection/ownSession.ts';
import type { Subjects } from './changeNotices.ts';

/** With more changes than this, a node drops all that it keeps instead of each record. */
const MAX_CHANGES = 1_000;

export interface PollRow extends Record<string, unknown>, DurabilityFacts {
  last: number;
  token: string;
  now: number;
  timeline: number;
  moved: boolean;
  changes: readonly ChangeRow[] | null;
}

interface ChangeRow {
  readonly number: number;
  readonly keys: readonly string[];
  readonly root_keys: boolean;
  /** JSON of Subjects; null: none. */
  readonly subjects: string | null;
}

/** The counter, the clock, the changes since and how safe commits are, in one snapshot. */
export const POLL = `SELECT c.number AS last, c.token, ledger_now_v1(NULL) AS now, ${IS_MOVED} AS moved, ${DURABILITY_COLUMNS},
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS timeline, (
    SELECT json_agg(json_build_object('number', n.number, 'keys', n.keys, 'root_keys', n.root_keys, 'subjects', n.subjects))
    FROM (SELECT number, keys, root_keys, subjects FROM changes WHERE number > $1::bigint ORDER BY number LIMIT ${MAX_CHANGES}) n
  ) AS changes FROM change_counter c WHERE ${IS_OWN_SESSION}($2)`;

/** A message in the log of the server and a commit behind it, about 100 bytes. No table: there is nothing to clean up behind it. */
export const BEAT = `SELECT pg_logical_emit_message(true, 'keystile', '') WHERE ${IS_OWN_SESSION}($1)`;

export const ANYTHING: RecordChange = {
  keys: null,
  apis: [],
  identities: [],
  plans: [],
  namespaces: [],
  rbac: true,
  rootKeys: true,
};

export function merged(changes: readonly ChangeRow[]): RecordChange {
  const subjects = changes.flatMap(({ subjects: text }) => (text === null ? [] : (JSON.parse(text) as Subjects)));
  return {
    keys: changes.flatMap(({ keys }) => keys),
    apis: subjects.flatMap(({ apis }) => apis),
    identities: subjects.flatMap(({ identities }) => identities),
    plans: subjects.flatMap(({ plans }) => plans),
    namespaces: subjects.flatMap(({ namespaces }) => namespaces),
    rbac: subjects.some(({ rbac }) => rbac),
    rootKeys: changes.some(({ root_keys }) => root_keys),
  };
}
