import type { LimitReport, Verdict } from '../../engine/verify/verdict.ts';
import { shownLimit, wireOf } from './limitWire.ts';

/** One header of an answer. The front writes it as a line, the general handler puts it into `Headers`. */
export type HeaderPair = readonly [name: string, value: string];

const REPLAYED: HeaderPair = ['keystile-replayed', 'true'];

/** The headers of a verdict beside those that every answer has; null when there are none. */
export function verdictHeaders(verdict: Verdict, hasLimitHeaders: boolean): HeaderPair[] | null {
  const { limits, replayed } = verdict;
  const report = limits === null || !hasLimitHeaders ? undefined : (shownLimit(limits) ?? limits[0]);
  if (report === undefined) return replayed ? [REPLAYED] : null;
  const headers = limitHeaders(verdict, report);
  if (replayed) headers.unshift(REPLAYED);
  return headers;
}

/** IETF httpapi draft: RateLimit-Policy says what is granted, RateLimit what is left of it. */
function limitHeaders({ atMs, code }: Verdict, { limit, remaining, resetAtMs }: LimitReport): HeaderPair[] {
  const { policyHeader, rateLimitHead } = wireOf(limit);
  const seconds = Math.max(0, Math.ceil((resetAtMs - atMs) / 1000));
  const headers: HeaderPair[] = [policyHeader, ['ratelimit', `${rateLimitHead}${remaining};t=${seconds}`]];
  if (code === 'RATE_LIMITED') headers.push(['retry-after', String(seconds)]);
  return headers;
}
