import type { Storage } from '../../../src/storage/port/storage.ts';
import type { TallyQuery, TallyRow } from '../../../src/storage/port/analytics.ts';
import { tally, tallyCounts } from './samples.ts';

export const MINUTE_MS = 60_000;
export const DAY_START_MS = tally().minuteMs;

const EVERYTHING: TallyQuery = {
  span: 'minute',
  apiId: 'api_1',
  keyIds: null,
  identityIds: null,
  fromMs: 0,
  untilMs: Number.MAX_SAFE_INTEGER,
  groupBy: [],
};

/** Of all that api_1 has, unless told otherwise. */
export const sum = (storage: Storage, query: Partial<TallyQuery> = {}): Promise<readonly TallyRow[]> =>
  storage.tallies.sum({ ...EVERYTHING, ...query });

/** A row of nothing, with these fields. */
export const row = (fields: Partial<TallyRow>): TallyRow => ({
  timeMs: null,
  keyId: null,
  identityId: null,
  tags: null,
  counts: tallyCounts(),
  ...fields,
});
