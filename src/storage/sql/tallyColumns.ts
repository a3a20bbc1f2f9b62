import { VERDICT_CODES } from '../../core/verdictCodes.ts';
import type { Span } from '../talliesPort.ts';

/** Columns of the counts, in the order of VERDICT_CODES. */
export const COUNTS = VERDICT_CODES.map((code) => code.toLowerCase());

export const SPAN_MS: Readonly<Record<Span, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
/** As a span stands in the tables. */
export const SPAN_NUMBER: Readonly<Record<Span, number>> = { minute: 0, hour: 1, day: 2 };
export const SPANS = ['minute', 'hour', 'day'] as const;
