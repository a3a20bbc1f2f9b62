import { countField, SHOWN_VERDICTS, VERDICTS } from '../src/core/verdictCodes.ts';
import type { Series } from './ui/chart.tsx';

/** Of one key, none is of an unknown one. */
export type Counts = Readonly<Record<string, number | undefined>>;

/** One series for each outcome that occurred, and always one for valid. */
export function outcomeSeries(rows: readonly object[]): Series[] {
  return SHOWN_VERDICTS.map((code) => {
    const { label, color } = VERDICTS[code];
    return { label, color, values: rows.map((row) => (row as Counts)[countField(code)] ?? 0) };
  }).filter(({ label, values }) => label === VERDICTS.VALID.label || values.some((value) => value > 0));
}
