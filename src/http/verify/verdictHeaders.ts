import type { Verdict } from '../../engine/verify/verdict.ts';
import type { LimitReport } from '../../engine/verify/limitReports.ts';
import type { AnswerHeader } from '../shapes/schema/answerHeaders.ts';
import { shownLimit, wireOf } from './limitWire.ts';

/** The headers that a verdict can have beside those that every answer has. */
export const VERDICT_HEADERS = [
  'keystile-replayed',
  'ratelimit-policy',
  'ratelimit',
  'retry-after',
] as const satisfies readonly AnswerHeader[];

/** One header of a verdict. */
export type VerdictHeader = readonly [name: (typeof VERDICT_HEADERS)[number], value: string];

/**
 * Keystile-Replayed, and the headers of the limit that the verdict shows. IETF httpapi draft: RateLimit-Policy says what is granted, RateLimit what is left of it. The front writes them as lines, the general handler as
 * pairs. Lines are not made from pairs: that was measured as 5 % of the work for a verification with a limit.
 */
export function headerLines(verdict: Verdict, hasLimitHeaders: boolean): string {
  const { limits, replayed, code } = verdict;
  if (limits === null && !replayed) return '';
  const begun = replayed ? 'keystile-replayed: true\r\n' : '';
  const report = reportOf(verdict, hasLimitHeaders);
  if (report === undefined) return begun;
  const seconds = secondsLeft(verdict, report);
  const lines = `${begun}${wireOf(report.limit).linesHead}${report.remaining};t=${seconds}\r\n`;
  return code === 'RATE_LIMITED' ? `${lines}retry-after: ${seconds}\r\n` : lines;
}

export function headerPairs(verdict: Verdict, hasLimitHeaders: boolean): VerdictHeader[] {
  const pairs: VerdictHeader[] = verdict.replayed ? [['keystile-replayed', 'true']] : [];
  const report = reportOf(verdict, hasLimitHeaders);
  if (report === undefined) return pairs;
  const { policy, rateLimitHead } = wireOf(report.limit);
  const seconds = secondsLeft(verdict, report);
  pairs.push(['ratelimit-policy', policy], ['ratelimit', `${rateLimitHead}${report.remaining};t=${seconds}`]);
  if (verdict.code === 'RATE_LIMITED') pairs.push(['retry-after', String(seconds)]);
  return pairs;
}

function reportOf({ limits }: Verdict, hasLimitHeaders: boolean): LimitReport | undefined {
  return limits === null || !hasLimitHeaders ? undefined : (shownLimit(limits) ?? limits[0]);
}

function secondsLeft({ atMs }: Verdict, { resetAtMs }: LimitReport): number {
  return Math.max(0, Math.ceil((resetAtMs - atMs) / 1000));
}
