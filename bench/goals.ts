import type { CounterResult } from './counters.ts';
import type { IdleResult } from './idle.ts';
import type { MillionResult } from './million.ts';

export interface Results {
  readonly counters: readonly CounterResult[];
  readonly million: MillionResult | null;
  readonly idle: IdleResult | null;
}

/** What the project set out to reach, held against what was measured. */
export interface Goal {
  readonly what: string;
  readonly measured: number;
  readonly bound: 'at least' | 'at most';
  readonly target: number;
  readonly unit: string;
  readonly isReached: boolean;
}

export function goalsOf({ counters, million, idle }: Results): Goal[] {
  const goals: Goal[] = [];
  const atLeast = (what: string, measured: number, target: number | null, unit: string): void => {
    if (target !== null) goals.push({ what, measured, bound: 'at least', target, unit, isReached: measured >= target });
  };
  const atMost = (what: string, measured: number, target: number | null, unit: string): void => {
    if (target !== null) goals.push({ what, measured, bound: 'at most', target, unit, isReached: measured <= target });
  };
  for (const { row, comparison } of counters) {
    atLeast(`${row.title}: requests`, comparison.ratio.median, row.targetRatio, 'x bare');
    atMost(`${row.title}: p99`, comparison.p99Ratio.median, row.targetP99Ratio, 'x bare');
  }
  if (million !== null) {
    atMost('1,000,000 keys: start to first verdict', million.startSeconds, 1, 's');
    atLeast('1,000,000 keys: requests', million.comparison.ratio.median, 0.85, 'x 1,000 keys');
    atMost('1,000,000 keys: resident memory', million.residentMebibytes, 700, 'MiB');
  }
  if (idle !== null) {
    atMost('idle: resident memory', idle.residentMebibytes, 120, 'MiB');
    atMost('idle: processor', idle.processorPercent, 0.5, '%');
  }
  return goals;
}
