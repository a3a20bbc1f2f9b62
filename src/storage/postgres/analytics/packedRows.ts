import { type VerificationCount, CountColumns } from '../../../core/verificationCounts.ts';
import { COUNTS, LOG_COLUMNS } from '../../sql/analytics/countColumns.ts';
import { packCounts } from '../../sql/analytics/packedCounts.ts';
import type { Named } from '../../sql/analytics/sumStatement.ts';

/** So many texts are looked for in a slice before it is taken apart: for more of them it would take longer. */
const MAX_LOOKED_FOR = 20;

const COLUMNS = LOG_COLUMNS.join(', ');
const LISTS = LOG_COLUMNS.map((column) => {
  return `jsonb_array_elements_text(slice -> '${column === 'api_id' ? 'api' : column}')`;
}).join(', ');
/** Of each slice once: a look into it for each of its rows would take it apart each time. */
const HEADS = "slice, (slice ->> 'from_ms')::bigint AS from_ms, slice -> 'apis' AS apis";
const VALUES = [
  "from_ms + coalesce(minute_ms, '0')::bigint AS minute_ms",
  "apis ->> coalesce(api_id, '0')::int AS api_id",
  'key_id',
  "coalesce(identity_id, '') AS identity_id",
  "coalesce(tags, '') AS tags",
  'from_ms + last_at_ms::bigint AS last_at_ms',
  ...COUNTS.map((name) => `coalesce(${name}, '0')::bigint AS ${name}`),
].join(', ');

/** Rows as those of the log, of what a query tells as `slice`. */
function rowsOfSlices(slices: string): string {
  return `SELECT ${VALUES} FROM (SELECT ${HEADS} FROM (${slices}) t OFFSET 0) s, ROWS FROM (${LISTS}) AS l (${COLUMNS})`;
}

/** Slices are read where they stand: who asks waits for nobody and writes nothing. */
export function sliceSource({ isOfApi, keys, identities }: Named): string {
  if (isOfApi) return `(${rowsOfSlices('SELECT apis::jsonb AS slice FROM tally_slices OFFSET 0')}) a`;
  const holds = [keys, identities].filter((named) => named !== null && named.length <= MAX_LOOKED_FOR);
  const where = holds.map((named) => `(${named?.map((name) => `strpos(body, ${name}) > 0`).join(' OR ') || 'FALSE'})`);
  const filter = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`;
  return `(${rowsOfSlices(`SELECT body::jsonb AS slice FROM tally_slices${filter} OFFSET 0`)}) k`;
}

/** What counts say of apis, without keys: that is asked most, and can be told without taking all of them apart. */
export function packApis(counts: CountColumns): string {
  const { fromMs, apis, keyIds, minutesMs, places, tags, counts: byCode } = counts.lists();
  const sums = new Map<string, VerificationCount & { counts: number[] }>();
  for (let i = 0; i < keyIds.length; i++) {
    const [minute, place, tagged] = [minutesMs?.[i] ?? 0, places?.[i] ?? 0, tags?.[i] ?? ''];
    const name = `${minute} ${place} ${tagged}`;
    let sum = sums.get(name);
    if (sum === undefined) {
      const minuteMs = fromMs + minute;
      const subject = { minuteMs, apiId: apis[place] ?? '', keyId: '', identityId: '', tags: tagged };
      sum = { ...subject, counts: byCode.map(() => 0), lastAtMs: minuteMs };
      sums.set(name, sum);
    }
    for (const [code, list] of byCode.entries())
      if (list !== null) sum.counts[code] = (sum.counts[code] ?? 0) + (list[i] ?? 0);
  }
  return packCounts(CountColumns.of([...sums.values()]));
}
