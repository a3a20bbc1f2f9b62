import type { RegionLatency } from './latency.ts';
import { type Level, LOCAL_LIMIT } from './overshoot.ts';
import type { Path } from './paths.ts';
import type { RevocationResult } from './revocation.ts';
import { greatest, sum } from './statistics.ts';
import { STRICT_LIMIT, type StrictResult } from './strict.ts';

export interface Results {
  readonly latency: readonly RegionLatency[];
  readonly strict: StrictResult;
  readonly overshoot: readonly Level[];
  readonly convergence: readonly Path[];
  readonly revocation: RevocationResult;
}

/** KEYSTILE_STALE_MAX as it is when nobody sets it. */
export const REVOKED_WITHIN_MS = 1_000;

/** A promise of the design, held against what was measured. */
export interface Held {
  readonly promise: string;
  readonly measured: string;
  readonly isKept: boolean;
}

export function holdPromises({ latency, strict, overshoot, revocation }: Results): Held[] {
  const nodes = latency.length;
  const trials = overshoot.flatMap((level) => level.trials);
  const most = greatest(trials.map(({ admitted }) => sum(admitted)));
  const mostOfOne = greatest(trials.flatMap(({ admitted }) => admitted));
  const { latestAdmittedMs, admittedWhereDeleted } = revocation;
  return [
    {
      promise: `strict: at most ${STRICT_LIMIT} in any window over all regions`,
      measured: `${strict.mostEver}`,
      isKept: strict.mostEver <= STRICT_LIMIT,
    },
    {
      promise: `local: at most ${nodes} x ${LOCAL_LIMIT} = ${nodes * LOCAL_LIMIT} over all regions, ${LOCAL_LIMIT} in each`,
      measured: `${most}, ${mostOfOne} in one`,
      isKept: most <= nodes * LOCAL_LIMIT && mostOfOne <= LOCAL_LIMIT,
    },
    {
      promise: `revocation: other regions admit nothing later than ${REVOKED_WITHIN_MS} ms after deleteKey answered`,
      measured: `latest ${latestAdmittedMs.toFixed(0)} ms`,
      isKept: latestAdmittedMs <= REVOKED_WITHIN_MS,
    },
    {
      promise: 'revocation: where deleteKey answered, nothing is admitted after it',
      measured: `${admittedWhereDeleted}`,
      isKept: admittedWhereDeleted === 0,
    },
  ];
}
