import { LOG_COLUMNS } from '../analytics/countColumns.ts';
import { type CountSlice, verdictsOf } from '../analytics/packedCounts.ts';
import type { DataRow } from './dataTables.ts';

/** Packed counts (packedCounts.ts) as rows of verdict_log. */
export function* rowsOfSlice(body: string): Generator<DataRow> {
  for (const row of verdictsOf(JSON.parse(body) as CountSlice))
    yield Object.fromEntries(LOG_COLUMNS.map((column, i) => [column, row[i] ?? 0]));
}
