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

/** The default of KEYSTILE_STALE_MAX. */
export const REVOKED_WITHIN_MS = 1_000;

/** A promise of Keystile, with the measured value. */
export interface PromiseCheck {
  readonly promise: string;
  readonly measured: string;
  readonly isKept: boolean;
}

export function checkPromises({ latency, strict, overshoot, revocation }: Results): PromiseCheck[] {
  const nodes = latency.length;
  const trials = overshoot.flatMap((level) => level.trials);
  const most = greatest(trials.map(({ admitted }) => sum(admitted)));
  const mostOfOne = greatest(trials.flatMap(({ admitted }) => admitted));
  const { latestAdmittedMs, admittedWhereDeleted } = revocation;
  return [
    {
      promise: `strict: all regions together admit at most ${STRICT_LIMIT} in any window`,
      measured: `${strict.mostEver}`,
      isKept: strict.mostEver <= STRICT_LIMIT,
    },
    {
      promise: `local: each region admits at most ${LOCAL_LIMIT}, all ${nodes} together at most ${nodes * LOCAL_LIMIT}`,
      measured: `${mostOfOne} in one, ${most} together`,
      isKept: most <= nodes * LOCAL_LIMIT && mostOfOne <= LOCAL_LIMIT,
    },
    {
      promise: `revocation: other regions admit nothing later than ${REVOKED_WITHIN_MS} ms after deleteKey has answered`,
      measured: `${latestAdmittedMs.toFixed(0)} ms`,
      isKept: latestAdmittedMs <= REVOKED_WITHIN_MS,
    },
    {
      promise: 'revocation: the region that answered deleteKey admits nothing afterwards',
      measured: `${admittedWhereDeleted}`,
      isKept: admittedWhereDeleted === 0,
    },
  ];
}
