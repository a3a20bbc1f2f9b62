import type { VerdictCode } from '../../core/verdictCodes.ts';
import type { Verdict } from '../../engine/verify/verdict.ts';

/**
 * The one table from a verdict to the HTTP status that the caller of a protected route gets. UNAVAILABLE: there is no verdict.
 * keys.verifyKey does not use it: there every verdict is 200.
 */
export const VERDICT_STATUS = {
  VALID: 200,
  NOT_FOUND: 401,
  DISABLED: 401,
  EXPIRED: 401,
  FORBIDDEN: 403,
  INSUFFICIENT_PERMISSIONS: 403,
  RATE_LIMITED: 429,
  USAGE_EXCEEDED: 429,
  UNAVAILABLE: 503,
} as const satisfies Readonly<Record<VerdictCode | 'UNAVAILABLE', number>>;

/**
 * Whether a refused request can pass later, when nothing but time has changed. Many clients repeat every 429: without this they would
 * repeat one for credits that nothing refills.
 */
export function isRetryable({ code, nextRefillAtMs }: Verdict): boolean {
  return code === 'RATE_LIMITED' || nextRefillAtMs !== undefined;
}
