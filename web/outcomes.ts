import type { Series } from './ui/chart.tsx';

/** The outcomes of verifications: their field in analytics, their name, and their colour. */
const OUTCOMES = [
  ['valid', 'Valid', 'good'],
  ['rateLimited', 'Rate limited', 'amber'],
  ['usageExceeded', 'Out of credits', 'orange'],
  ['expired', 'Expired', 'violet'],
  ['disabled', 'Disabled', 'grey'],
  ['insufficientPermissions', 'Lacks permissions', 'blue'],
  ['forbidden', 'Forbidden', 'bad'],
  ['notFound', 'Unknown key', 'dark'],
] as const;

type Outcome = (typeof OUTCOMES)[number][0];
/** Of one key, none is of an unknown one. */
export type Counts = { readonly [O in Exclude<Outcome, 'notFound'>]: number } & { readonly notFound?: number };

/** One series for each outcome that occurred, and always one for valid. */
export function outcomeSeries(rows: readonly Counts[]): Series[] {
  return OUTCOMES.map(([field, label, color]) => ({ label, color, values: rows.map((row) => row[field] ?? 0) })).filter(
    ({ label, values }) => label === 'Valid' || values.some((value) => value > 0),
  );
}
