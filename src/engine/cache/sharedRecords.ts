import type { LimitRecord, RefillRule } from '../../core/records.ts';
import type { AppliedLimit } from '../verify/appliedLimits.ts';
import { asConfigured } from './makeEntry.ts';
import { Shared } from './sharedValues.ts';

/** What packed keys have in common, by number. A number of 0 stands for none, -1 for too many different ones. */
export class SharedRecords {
  readonly apis = new Shared<string>();
  readonly limits = new Shared<readonly AppliedLimit[]>();
  readonly refills = new Shared<RefillRule>();

  limitsNumber(limits: readonly LimitRecord[]): number {
    return limits.length === 0 ? 0 : this.limits.indexOf(JSON.stringify(limits), limits.map(asConfigured));
  }

  /** When the rule was set makes no difference to a verification; without it many keys share a rule. */
  refillNumber(refill: RefillRule | null): number {
    if (refill === null) return 0;
    const rule = { ...refill, sinceMs: 0 };
    return this.refills.indexOf(JSON.stringify(rule), rule);
  }
}
