import { SUMS } from '../analytics/countColumns.ts';
import type { CountSlice } from '../analytics/packedCounts.ts';
import type { DataRow } from './dataTables.ts';

/** Packed counts (packedCounts.ts) as rows of count_log. */
export function* rowsOfSlice(body: string): Generator<DataRow> {
  const slice = JSON.parse(body) as CountSlice;
  const { from_ms: fromMs, apis, key_id: keys } = slice;
  for (let i = 0; i < keys.length; i++) {
    const row: Record<string, string | number> = {
      minute_ms: fromMs + (slice.minute_ms?.[i] ?? 0),
      api_id: apis[slice.api?.[i] ?? 0] ?? '',
      key_id: keys[i] ?? '',
      identity_id: slice.identity_id?.[i] ?? '',
      tags: slice.tags?.[i] ?? '',
      last_at_ms: fromMs + (slice.last_at_ms[i] ?? 0),
    };
    for (const sum of SUMS) row[sum] = (slice[sum] as readonly number[] | undefined)?.[i] ?? 0;
    yield row;
  }
}
