/** The periods that the overview shows. */
export const RANGES = [
  { label: 'Last hour', group: 'minute', lengthMs: 3_600_000, everyMs: 2_000 },
  { label: 'Last day', group: 'hour', lengthMs: 86_400_000, everyMs: 10_000 },
  { label: 'Last 30 days', group: 'day', lengthMs: 30 * 86_400_000, everyMs: 60_000 },
] as const;

export type Range = (typeof RANGES)[number];
