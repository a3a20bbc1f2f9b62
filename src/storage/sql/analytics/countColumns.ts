import { VERDICT_CODES } from '../../../core/verdictCodes.ts';
import type { Span } from '../../port/analytics.ts';

/**
 * Tables have a row for each verdict of a subject: its code as a number, its count, and the credits that these verifications took. Slices
 * (packedCounts.ts) and answers have a column for each code.
 */

/** Columns of tables that are added up. */
export const SUMS: readonly string[] = ['count', 'credits'];

/** Columns of the log of verdicts. */
export const LOG_COLUMNS: readonly string[] = [
  'minute_ms',
  'api_id',
  'key_id',
  'identity_id',
  'tags',
  'code',
  'last_at_ms',
  ...SUMS,
];

/** By LOG_COLUMNS: minute, api, key, identity, tags, code, last use, count, credits. */
export type LogRow = [number, string, string, string, string, number, number, number, number];

/** The columns of codes, in the order of VERDICT_CODES. The index of a code there is its number. */
export const CODES = VERDICT_CODES.map((code) => code.toLowerCase());

/**
 * In schema version 1 of analytics.db, and 2 of PostgreSQL, each of these codes had a column, in the order of their numbers. Never edit
 * this list.
 */
export const FORMER_CODES: readonly string[] = [
  'valid',
  'not_found',
  'forbidden',
  'disabled',
  'expired',
  'insufficient_permissions',
  'rate_limited',
  'usage_exceeded',
];

/**
 * The member of a slice that counts this code. Older nodes know only the names. A newer code uses its number, so that a node that does not
 * know it keeps its counts.
 */
export function memberOf(code: number): string {
  return FORMER_CODES[code] ?? String(code);
}

/** The code of a member; null = the member does not count a code. */
export function codeOf(member: string): number | null {
  const code = FORMER_CODES.indexOf(member);
  if (code >= 0) return code;
  return /^\d+$/.test(member) ? Number(member) : null;
}

/** The columns that slices and answers add up. */
export const TOTALS: readonly string[] = [...CODES, 'credits'];

/** TOTALS of a row of a table. A code that this program does not know adds nothing. */
export const TOTALS_OF_ROW: readonly string[] = [
  ...CODES.map((column, code) => `CASE WHEN code = ${code} THEN count ELSE 0 END AS ${column}`),
  'credits',
];

/** The number of a span in the tables. */
export const SPAN_NUMBER: Readonly<Record<Span, number>> = { minute: 0, hour: 1, day: 2 };
