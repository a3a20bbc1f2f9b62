/** What a verification can be answered, in the order of the columns in which the outcomes are counted. */
export const VERDICT_CODES = [
  'VALID',
  'NOT_FOUND',
  'FORBIDDEN',
  'DISABLED',
  'EXPIRED',
  'INSUFFICIENT_PERMISSIONS',
  'RATE_LIMITED',
  'USAGE_EXCEEDED',
] as const;

export type VerdictCode = (typeof VERDICT_CODES)[number];
