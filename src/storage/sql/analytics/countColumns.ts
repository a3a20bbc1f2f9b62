import { VERDICT_CODES } from '../../../core/verdictCodes.ts';
import type { Span } from '../../port/analytics.ts';

/** Columns of the counts, in the order of VERDICT_CODES. */
export const COUNTS = VERDICT_CODES.map((code) => code.toLowerCase());

/** Columns that are added up: the counts, and the credits that these verifications took. */
export const SUMS: readonly string[] = [...COUNTS, 'credits'];

/** The number of a span in the tables. */
export const SPAN_NUMBER: Readonly<Record<Span, number>> = { minute: 0, hour: 1, day: 2 };

/** Columns of the log. */
export const LOG_COLUMNS: readonly string[] = [
  'minute_ms',
  'api_id',
  'key_id',
  'identity_id',
  'tags',
  'last_at_ms',
  ...SUMS,
];
