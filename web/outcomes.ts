import { countField, SHOWN_VERDICTS, VERDICTS } from '../src/core/verdictCodes.ts';
import type { Series } from './ui/chart.tsx';

/** Counts by their field in analytics. Of one key, none is of an unknown one. */
export interface Counts {
  readonly valid: number;
  readonly notFound?: number;
}

/** One series for each outcome that occurred, and always one for valid. */
export function outcomeSeries(rows: readonly Counts[]): Series[] {
  return SHOWN_VERDICTS.map((code) => {
    const { label, color } = VERDICTS[code];
    return { label, color, values: rows.map((row) => (Reflect.get(row, countField(code)) as number | undefined) ?? 0) };
  }).filter(({ label, values }) => label === VERDICTS.VALID.label || values.some((value) => value > 0));
}
