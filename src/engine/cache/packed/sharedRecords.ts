import { alertsOf, tellsBelow } from '../../../core/alerts.ts';
import { heldRefill } from '../../../core/plan.ts';
import type { Alerts, LimitRecord, RefillRule } from '../../../core/records.ts';
import type { KeyRecord } from '../../../model/keys.ts';
import type { AppliedLimit } from '../appliedLimit.ts';
import type { EntryCredits, PlanEntry } from '../planEntry.ts';
import { asConfigured } from '../limitLists.ts';
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

  /** The credits of a key under these rules; null = they are metered. */
  creditsOf(account: number, rulesNumber: number | null, plan: PlanEntry | null): EntryCredits {
    if (rulesNumber === null) return { account, refill: null, metered: true, tellsBelow: 0 };
    const rules = rulesNumber === 0 ? PLAIN_CREDITS : this.credits.at(rulesNumber);
    if (plan === null) return { account, refill: rules.refill, tellsBelow: rules.tellsBelow };
    const refill = heldRefill({ account, refill: rules.refill }, plan.record);
    return { account, refill, tellsBelow: tellsBelow(rules.alerts, plan.record) };
  }
}
