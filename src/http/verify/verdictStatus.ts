import { type VerdictCode, VERDICTS } from '../../core/verdictCodes.ts';
import type { Verdict } from '../../engine/verify/verdict.ts';

/**
 * The HTTP status that the caller of a protected route gets for each verdict. UNAVAILABLE: there is no verdict.
 * keys.verifyKey does not use it: there every verdict is 200.
 */
export const VERDICT_STATUS = {
  ...(Object.fromEntries(Object.entries(VERDICTS).map(([code, { status }]) => [code, status])) as {
    readonly [C in VerdictCode]: (typeof VERDICTS)[C]['status'];
  }),
  UNAVAILABLE: 503,
} as const;

/**
 * Whether a refused request can pass later, when nothing but time has changed. Many clients repeat every 429: without this they would
 * repeat one for credits that nothing refills.
 */
export function isRetryable({ code, nextRefillAtMs }: Verdict): boolean {
  return code === 'RATE_LIMITED' || nextRefillAtMs !== undefined;
}
