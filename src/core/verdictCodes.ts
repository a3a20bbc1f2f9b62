/** The codes of a verdict, in the order of the columns in which analytics counts them. */
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
