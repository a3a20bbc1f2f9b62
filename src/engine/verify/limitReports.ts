import type { DecidedSpend } from '../../core/spend.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import type { LocalCharge } from '../local/localWindow.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';
import type { Counting } from './counting.ts';
import { firstChargeOf } from './pipeline.ts';
import { STRICT_LIMITS } from './spendCharges.ts';

/** A limit that was checked, as it is after this verification. */
export interface LimitReport {
  readonly limit: AppliedLimit;
  readonly remaining: number;
  readonly resetAtMs: number;
  readonly exceeded: boolean;
}

/** Reports of the local limits alone, when the ledger is not asked. `refusedBy`: the charge that refused; -1 = none. */
export function localReports(
  localLimits: LocalLimits,
  limits: readonly AppliedLimit[],
  local: readonly LocalCharge[],
  refusedBy: number,
): LimitReport[] {
  const reports: LimitReport[] = [];
  for (const limit of limits) {
    const charge = limit.async ? local[reports.length] : undefined;
    if (charge === undefined) continue;
    const exceeded = reports.length === refusedBy;
    reports.push({ limit, remaining: localLimits.left(charge), resetAtMs: charge.resetAtMs, exceeded });
  }
  return reports;
}

/**
 * Reports of all limits, in their order: local limits as this node counts them, strict limits as the ledger answered. A strict limit that
 * the ledger says nothing of has no report. null: no limit has one.
 */
export function allReports(
  localLimits: LocalLimits,
  counting: Counting,
  outcome: DecidedSpend,
): readonly LimitReport[] | null {
  const { limits, local } = counting;
  if (limits.length === 0) return null;
  const refusedBy = outcome.status === 'refused' ? outcome.by : -1;
  const reports: LimitReport[] = [];
  let nextLocal = 0;
  let nextStrict = firstChargeOf(counting, STRICT_LIMITS);
  for (const limit of limits) {
    if (limit.async) {
      const charge = local[nextLocal++] as LocalCharge;
      reports.push({ limit, remaining: localLimits.left(charge), resetAtMs: charge.resetAtMs, exceeded: false });
    } else {
      const result = outcome.charges[nextStrict];
      const exceeded = nextStrict++ === refusedBy;
      if (result !== undefined) reports.push({ limit, remaining: result.left, resetAtMs: result.resetAtMs, exceeded });
    }
  }
  return reports.length === 0 ? null : reports;
}
