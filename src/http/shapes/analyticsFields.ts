import { Type } from 'typebox';

import type { Issue } from '../../core/errors.ts';
import type { VerdictCode } from '../../core/verdictCodes.ts';
import { type Period, MAX_INSTANT_MS } from '../../engine/admin/analytics/timeRange.ts';
import { field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { orNull, Whole } from '../../model/schema/schemas.ts';

export const Instant = orNull(Type.Integer({ minimum: 0, maximum: MAX_INSTANT_MS }));

/** `start` is included, `end` is not. */
export const PeriodFields = {
  start: optional(
    Instant,
    'Count from this time on, in unix milliseconds, extended to whole hours, days or months. When null or absent: the last 24 hours for `hour`, else the last 30 days.',
    EXAMPLE.midnight,
  ),
  end: optional(
    Instant,
    'Count up to this time, without it, in unix milliseconds, extended to whole hours, days or months. It must be after `start`. Now when null or absent.',
    EXAMPLE.nextMidnight,
  ),
};

const COUNT_WORDS = {
  VALID: 'were valid',
  NOT_FOUND: 'answered NOT_FOUND, because there is no such key',
  FORBIDDEN: 'answered FORBIDDEN, because of the api or the address',
  DISABLED: 'answered DISABLED',
  EXPIRED: 'answered EXPIRED',
  INSUFFICIENT_PERMISSIONS: 'answered INSUFFICIENT_PERMISSIONS',
  RATE_LIMITED: 'answered RATE_LIMITED',
  USAGE_EXCEEDED: 'answered USAGE_EXCEEDED, because the credits did not suffice',
} as const satisfies Record<VerdictCode, string>;

/** Columns of a table on the command line, the most frequent first. */
export const REFUSAL_COLUMNS = [
  'rateLimited',
  'usageExceeded',
  'forbidden',
  'disabled',
  'expired',
  'insufficientPermissions',
] as const;

/** How many verifications had this verdict. */
export function countOf(code: VerdictCode, example: number) {
  return field(Whole, `How many verifications ${COUNT_WORDS[code]}.`, example);
}

/** The credits that the verifications of a row took. */
export function creditsOf(example: number) {
  return field(
    Whole,
    'Credits that these verifications took. A remembered answer takes none. Where key and identity both pay, the cost counts once.',
    example,
  );
}

interface PeriodBody {
  readonly start?: number | null;
  readonly end?: number | null;
}

export function toPeriod({ start = null, end = null }: PeriodBody): Period {
  return { startMs: start, endMs: end };
}

export function periodIssues({ start, end }: PeriodBody): Issue[] {
  return start != null && end != null && start >= end ? [{ path: 'end', message: 'end must be after start' }] : [];
}

/** A value, or a list of such values. */
export function oneOrMany<const S extends Type.TSchema>(schema: S, maxItems: number) {
  return Type.Union([schema, Type.Array(schema, { minItems: 1, maxItems })]);
}

export function asList<T>(value: T | readonly T[] | undefined): readonly T[] | null {
  if (value === undefined) return null;
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
