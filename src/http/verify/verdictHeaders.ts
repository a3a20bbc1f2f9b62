import { MAX_SHOWN_POLICIES } from '../../core/bounds.ts';
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
 * Keystile-Replayed, and the headers of limits (IETF httpapi draft): RateLimit-Policy says what each limit grants, first the one that the
 * verdict shows, and RateLimit what is left of that one. Retry-After says when the limit, or a refill of the credits, lets requests pass
 * again. The front writes them as lines, the general handler as pairs. Lines are not made from pairs: that was measured as 5 % of the work
 * for a verification with a limit.
 */
export function headerLines(verdict: Verdict, hasLimitHeaders: boolean): string {
  const { limits, replayed, code } = verdict;
  if (limits === null && !replayed && code !== 'USAGE_EXCEEDED') return '';
  const begun = replayed ? 'keystile-replayed: true\r\n' : '';
  const report = reportOf(verdict, hasLimitHeaders);
  const limited = report === undefined ? begun : begun + limitLines(verdict, report);
  const seconds = hasLimitHeaders && code !== 'VALID' ? retryAfter(verdict, report) : null;
  return seconds === null ? limited : `${limited}retry-after: ${seconds}\r\n`;
}

function limitLines(verdict: Verdict, report: LimitReport): string {
  const { linesHead, rateLimitHead } = wireOf(report.limit);
  const left = `${report.remaining};t=${secondsUntil(report.resetAtMs, verdict)}\r\n`;
  if (verdict.limits?.length === 1) return linesHead + left;
  return `ratelimit-policy: ${policies(verdict, report)}\r\nratelimit: ${rateLimitHead}${left}`;
}

export function headerPairs(verdict: Verdict, hasLimitHeaders: boolean): VerdictHeader[] {
  const pairs: VerdictHeader[] = verdict.replayed ? [['keystile-replayed', 'true']] : [];
  const report = reportOf(verdict, hasLimitHeaders);
  if (report !== undefined) {
    const { rateLimitHead } = wireOf(report.limit);
    pairs.push(['ratelimit-policy', policies(verdict, report)]);
    pairs.push(['ratelimit', `${rateLimitHead}${report.remaining};t=${secondsUntil(report.resetAtMs, verdict)}`]);
  }
  const seconds = hasLimitHeaders ? retryAfter(verdict, report) : null;
  if (seconds !== null) pairs.push(['retry-after', String(seconds)]);
  return pairs;
}

function policies({ limits }: Verdict, shown: LimitReport): string {
  const others = (limits ?? []).filter((report) => report !== shown).slice(0, MAX_SHOWN_POLICIES - 1);
  return [shown, ...others].map(({ limit }) => wireOf(limit).policy).join(', ');
}

/** null: it is not known that waiting helps. */
function retryAfter(verdict: Verdict, report: LimitReport | undefined): number | null {
  if (verdict.code === 'RATE_LIMITED' && report !== undefined) return secondsUntil(report.resetAtMs, verdict);
  return verdict.nextRefillAtMs === undefined ? null : secondsUntil(verdict.nextRefillAtMs, verdict);
}

function reportOf({ limits }: Verdict, hasLimitHeaders: boolean): LimitReport | undefined {
  return limits === null || !hasLimitHeaders ? undefined : (shownLimit(limits) ?? limits[0]);
}

function secondsUntil(unixMs: number, { atMs }: Verdict): number {
  return Math.max(0, Math.ceil((unixMs - atMs) / 1000));
}
