import { type AlertsPatch, requireThreshold } from '../../../core/alerts.ts';
import type { AdminContext } from './adminContext.ts';
import { type CreditsHolder, readCredits } from './readCredits.ts';

interface AlertedPatch {
  readonly alerts?: AlertsPatch | null;
  readonly remaining?: number | null;
}

/** Refuses a threshold above the balance. The credits are those after the patch. */
export async function requireBalance(
  context: Pick<AdminContext, 'storage' | 'refills' | 'settle'>,
  { alerts, remaining }: AlertedPatch,
  { id: owner, credits }: CreditsHolder,
): Promise<void> {
  if (alerts?.creditsBelow == null) return;
  if (credits === null || credits.metered) return requireThreshold(alerts, null);
  if (remaining != null) return requireThreshold(alerts, remaining);
  const [account] = await readCredits(context, [{ id: owner, credits }]);
  const { refills, storage } = context;
  const nowMs = storage.ledger.nowMs();
  requireThreshold(alerts, account === undefined ? null : refills.balance(account, credits.refill, nowMs));
}
