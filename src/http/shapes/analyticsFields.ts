import { Type } from 'typebox';

import type { Issue } from '../../core/errors.ts';
import { countField, SHOWN_VERDICTS, type VerdictCode, VERDICTS } from '../../core/verdictCodes.ts';
import { type Period, MAX_INSTANT_MS } from '../../engine/admin/analytics.ts';
import { field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { orNull, Whole } from '../../model/schema/schemas.ts';

export const Instant = orNull(Type.Integer({ minimum: 0, maximum: MAX_INSTANT_MS }));

/** `start` is included, `end` is not. */
export const PeriodFields = {
  start: optional(
    Instant,
    'Count from this time on, in unix milliseconds, extended to whole hours, days or months. When absent (or null), the last 24 hours for `hour`, else the last 30 days.',
    EXAMPLE.midnight,
  ),
  end: optional(
    Instant,
    'Count up to this time, which is not included, in unix milliseconds, extended to whole hours, days or months. It must be after `start`. Now when absent (or null).',
    EXAMPLE.nextMidnight,
  ),
};

/** Columns of a table on the command line: what was refused, the most frequent first. */
export const REFUSAL_COLUMNS = SHOWN_VERDICTS.filter((code) => code !== 'VALID' && code !== 'NOT_FOUND').map(
  countField,
);

/** How many verifications had this verdict. */
function countOf(code: VerdictCode, example: number) {
  const words = code === 'VALID' ? 'were valid' : `answered ${code}, because ${VERDICTS[code].means}`;
  return field(Whole, `How many verifications ${words}.`, example);
}

/** A count for each of these verdicts, under the name of its field. */
export function countsOf(codes: readonly VerdictCode[], examples: CountExamples) {
  return Object.fromEntries(codes.map((code) => [countField(code), countOf(code, examples[code] ?? 0)]));
}

type CountExamples = Partial<Record<VerdictCode, number>>;

/** An example with a count for each of these verdicts. */
export function exampleCounts(codes: readonly VerdictCode[], examples: CountExamples): Record<string, number> {
  return Object.fromEntries(codes.map((code) => [countField(code), examples[code] ?? 0]));
}

/** The credits that the verifications of a row took. */
export function creditsOf(example: number) {
  return field(
    Whole,
    'Credits that these verifications took. A verdict that is repeated for an idempotency key takes none. When the key and its customer both pay, the cost counts once.',
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
  return start != null && end != null && start >= end
    ? [{ path: 'end', message: `end must be after start (${start}), got ${end}` }]
    : [];
}

/** A value, or a list of such values. */
export function oneOrMany<const S extends Type.TSchema>(schema: S, maxItems: number) {
  return Type.Union([schema, Type.Array(schema, { minItems: 1, maxItems })]);
}

export function asList<T>(value: T | readonly T[] | undefined): readonly T[] | null {
  if (value === undefined) return null;
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
