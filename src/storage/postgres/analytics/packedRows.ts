import { CODES, memberOf, TOTALS } from '../../sql/analytics/countColumns.ts';
import type { Named } from '../../sql/analytics/sumStatement.ts';

/** With at most this many names, slices that contain none of them are skipped. Searching for more takes longer than reading. */
const MAX_LOOKED_FOR = 20;

/** The columns of a slice's lists. */
const NAMES = ['minute_ms', 'api', 'key_id', 'identity_id', 'tags', 'last_at_ms', 'credits'];
const COLUMNS = [...NAMES, ...CODES].join(', ');
const MEMBERS = [...NAMES, ...CODES.map((_, code) => memberOf(code))];
const LISTS = MEMBERS.map((member) => `jsonb_array_elements_text(slice -> '${member}')`).join(', ');
/** Evaluated once for each slice: for each row, the JSON would be parsed each time. */
const HEADS = "slice, (slice ->> 'from_ms')::bigint AS from_ms, slice -> 'apis' AS apis";
const VALUES = [
  "from_ms + coalesce(minute_ms, '0')::bigint AS minute_ms",
  "apis ->> coalesce(api, '0')::int AS api_id",
  'key_id',
  "coalesce(identity_id, '') AS identity_id",
  "coalesce(tags, '') AS tags",
  'from_ms + last_at_ms::bigint AS last_at_ms',
  ...TOTALS.map((name) => `coalesce(${name}, '0')::bigint AS ${name}`),
].join(', ');

/** Rows with TOTALS, from a query with the column `slice`. */
function rowsOfSlices(slices: string): string {
  return `SELECT ${VALUES} FROM (SELECT ${HEADS} FROM (${slices}) t OFFSET 0) s, ROWS FROM (${LISTS}) AS l (${COLUMNS})`;
}

/** A question reads slices where they are: it writes nothing and waits for no lock. */
export function sliceSource({ isOfApi, keys, identities }: Named): string {
  if (isOfApi) return `(${rowsOfSlices('SELECT apis::jsonb AS slice FROM count_slices OFFSET 0')}) a`;
  const holds = [keys, identities].filter((named) => named !== null && named.length <= MAX_LOOKED_FOR);
  const where = holds.map((named) => `(${named?.map((name) => `strpos(body, ${name}) > 0`).join(' OR ') || 'FALSE'})`);
  const filter = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`;
  return `(${rowsOfSlices(`SELECT body::jsonb AS slice FROM count_slices${filter} OFFSET 0`)}) k`;
}
