import { alertsOf, tellsBelow } from '../../core/alerts.ts';
import type { Alerts, KeyRecord, LimitRecord, RefillRule } from '../../core/records.ts';
import type { AppliedLimit } from './appliedLimit.ts';
import { asConfigured } from './makeEntry.ts';
import { Shared } from './sharedValues.ts';

/** What keys share of their credits. */
interface CreditRules {
  readonly refill: RefillRule | null;
  readonly alerts: Alerts | null;
  /** Without a plan. */
  readonly tellsBelow: number;
}

const PLAIN_CREDITS: CreditRules = { refill: null, alerts: null, tellsBelow: tellsBelow(null, null) };

/** Values that packed keys share, by number. 0 = none, -1 = there are too many different values. */
export class SharedRecords {
  readonly apis = new Shared<string>();
  readonly limits = new Shared<readonly AppliedLimit[]>();
  readonly credits = new Shared<CreditRules>();

  limitsNumber(limits: readonly LimitRecord[]): number {
    return limits.length === 0 ? 0 : this.limits.indexOf(JSON.stringify(limits), limits.map(asConfigured));
  }

  /** The time at which a rule was set does not matter to a verification. Without it, many keys share one rule. */
  creditsNumber({ credits, alerts }: Pick<KeyRecord, 'credits' | 'alerts'>): number {
    const rule = credits?.refill ?? null;
    const threshold = alertsOf(null, alerts?.creditsBelow ?? null);
    if (credits === null || (rule === null && threshold === null)) return 0;
    const refill = rule === null ? null : { ...rule, sinceMs: 0 };
    const shared = { refill, alerts: threshold, tellsBelow: tellsBelow(threshold, null) };
    return this.credits.indexOf(JSON.stringify(shared), shared);
  }

  creditRules(number: number): CreditRules {
    return number === 0 ? PLAIN_CREDITS : this.credits.at(number);
  }
}
