import type { CheckStatus, Problem } from '../engine/admin/status/serviceStatus.ts';
import type { Outcome } from './check.ts';
import { CHECKS } from './checkTable.ts';
import type { GatheredFacts } from './facts.ts';

/** What every check finds. */
export function examine(gathered: GatheredFacts): readonly Outcome[] {
  return CHECKS.map((check) => check.look(gathered));
}

/** The problems, and the checks that were made. What could not be checked is in neither. */
export function toStatus(outcomes: readonly Outcome[]): {
  readonly problems: readonly Problem[];
  readonly checks: readonly CheckStatus[];
} {
  return {
    problems: outcomes.flatMap((outcome) => {
      if (outcome.result === 'ok' || outcome.result === 'not-checked') return [];
      const { name, result: severity, text, fix, command } = outcome;
      return { name, severity, text, fix, command };
    }),
    checks: outcomes.flatMap(({ name, meaning, result }) =>
      result === 'not-checked' ? [] : { name, meaning, isOk: result === 'ok' },
    ),
  };
}
