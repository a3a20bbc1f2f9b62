import { VERDICT_CODES } from '../../core/verdictCodes.ts';
import type { Span } from '../talliesPort.ts';

/** Columns of the counts, in the order of VERDICT_CODES. */
export const COUNTS = VERDICT_CODES.map((code) => code.toLowerCase());

/** As a span stands in the tables. */
export const SPAN_NUMBER: Readonly<Record<Span, number>> = { minute: 0, hour: 1, day: 2 };
