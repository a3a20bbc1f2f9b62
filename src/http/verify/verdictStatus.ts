import type { VerdictCode } from '../../core/verdictCodes.ts';

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
