import type { LimitRecord, RefillRule } from '../../core/records.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import { asConfigured } from './makeEntry.ts';
import { Shared } from './sharedValues.ts';

/** Values that packed keys share, by number. 0 = none, -1 = there are too many different values. */
export class SharedRecords {
  readonly apis = new Shared<string>();
  readonly limits = new Shared<readonly AppliedLimit[]>();
  readonly refills = new Shared<RefillRule>();

  limitsNumber(limits: readonly LimitRecord[]): number {
    return limits.length === 0 ? 0 : this.limits.indexOf(JSON.stringify(limits), limits.map(asConfigured));
  }

  /** The time at which a rule was set does not matter to a verification. Without it, many keys share one rule. */
  refillNumber(refill: RefillRule | null): number {
    if (refill === null) return 0;
    const rule = { ...refill, sinceMs: 0 };
    return this.refills.indexOf(JSON.stringify(rule), rule);
  }
}
