import { Type } from 'typebox';

import type { Issue } from '../../core/errors.ts';
import { type Period, MAX_INSTANT_MS } from '../../engine/admin/analytics/timeRange.ts';
import { orNull } from './schemas.ts';

const Instant = orNull(Type.Integer({ minimum: 0, maximum: MAX_INSTANT_MS }));

/** `start` is included, `end` is not. */
export const PeriodFields = { start: Type.Optional(Instant), end: Type.Optional(Instant) };

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
