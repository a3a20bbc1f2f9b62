import type { Problem } from '../engine/admin/status/serviceStatus.ts';
import type { Facts } from './facts.ts';

/** One thing that can be wrong with a running service. */
export interface Check {
  readonly name: string;
  /** What is right when nothing is found, in one sentence. */
  readonly meaning: string;
  readonly severity: Problem['severity'];
  /** What is wrong and what to do; null = nothing. */
  find(facts: Facts): Finding | null;
}

export type Finding = Pick<Problem, 'text' | 'fix'>;

/** "5 s", "3 minutes": how long something lasts, for a sentence. */
export function lasting(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return seconds === 1 ? '1 second' : `${seconds} seconds`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}

/** "a, b and 3 more": at most three names of many. */
export function some(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}
