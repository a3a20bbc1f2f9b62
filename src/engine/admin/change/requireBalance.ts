import { type AlertsPatch, requireThreshold } from '../../../core/alerts.ts';
import type { HeldCredits } from '../../../core/records.ts';
import type { AdminContext } from './adminContext.ts';

interface AlertedPatch {
  readonly alerts?: AlertsPatch | null;
  readonly remaining?: number | null;
}

/** Refuses a threshold above the balance. `credits`: those after the patch; null = none. */
export async function requireBalance(
  { storage, refills }: Pick<AdminContext, 'storage' | 'refills'>,
  { alerts, remaining }: AlertedPatch,
  credits: HeldCredits | null,
): Promise<void> {
  if (alerts?.creditsBelow == null) return;
  if (credits === null || credits.metered) return requireThreshold(alerts, null);
  if (remaining != null) return requireThreshold(alerts, remaining);
  const [account] = await storage.ledger.read([credits.account]);
  const nowMs = storage.ledger.nowMs();
  requireThreshold(alerts, account === undefined ? null : refills.balance(account, credits.refill, nowMs));
}
