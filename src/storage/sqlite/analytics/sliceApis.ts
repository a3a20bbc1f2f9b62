import type { CountColumns } from '../../../core/verificationCounts.ts';
import { CODES } from '../../sql/analytics/countColumns.ts';
import { sumByApi } from '../../sql/analytics/packedCounts.ts';

export const ADD_SLICE = 'INSERT INTO count_slices (apis, body) VALUES ($1, $2)';

/** Codes come last, so that each keeps its place when one is added. */
const COLUMNS = ['minute_ms', 'api_id', 'tags', 'credits', ...CODES];

/** The counts of one slice by minute, api and tags, as a JSON list of rows: SQLite's own functions read it. */
export function packApis(counts: CountColumns): string {
  return JSON.stringify(
    sumByApi(counts).map(({ minuteMs, apiId, tags, counts: byCode, credits }) => [
      minuteMs,
      apiId,
      tags,
      credits,
      ...byCode,
    ]),
  );
}

const VALUES = COLUMNS.map((name, i) => `coalesce(json_extract(row.value, '$[${i}]'), 0) AS ${name}`).join(', ');

/** A subquery with the columns that a question about apis reads. */
export const APIS_OF_SLICES = `(SELECT ${VALUES} FROM count_slices s, json_each(s.apis) row)`;
