import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { AnalyticsQuery, AnalyticsRow } from '../../../../src/storage/port/analytics.ts';
import { verificationCount, verdictCounts } from '../samples.ts';

export const MINUTE_MS = 60_000;
export const DAY_START_MS = verificationCount().minuteMs;

const EVERYTHING: AnalyticsQuery = {
  span: 'minute',
  apiId: 'api_1',
  keyIds: null,
  identityIds: null,
  fromMs: 0,
  untilMs: Number.MAX_SAFE_INTEGER,
  groupBy: [],
};

/** Of all that api_1 has, unless told otherwise. */
export const sum = (storage: Storage, query: Partial<AnalyticsQuery> = {}): Promise<readonly AnalyticsRow[]> =>
  storage.analytics.sum({ ...EVERYTHING, ...query });

/** A row of nothing, with these fields. */
export const row = (fields: Partial<AnalyticsRow>): AnalyticsRow => ({
  timeMs: null,
  keyId: null,
  identityId: null,
  tags: null,
  counts: verdictCounts(),
  credits: 0,
  ...fields,
});
