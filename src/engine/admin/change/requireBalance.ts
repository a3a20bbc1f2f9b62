import { type AlertsPatch, requireThreshold } from '../../../core/alerts.ts';
import type { HeldCredits } from '../../../core/records.ts';
import type { AdminContext } from './adminContext.ts';
import { readCredits } from './readCredits.ts';

interface AlertedPatch {
  readonly alerts?: AlertsPatch | null;
  readonly remaining?: number | null;
}

/** The credits that a patch changes. */
interface PatchedCredits {
  readonly id: string;
  readonly before: HeldCredits | null;
  readonly after: HeldCredits | null;
}

/** Refuses a threshold above the balance. A refill that the patch sets has refilled nothing yet. */
export async function requireBalance(
  context: Pick<AdminContext, 'storage' | 'refills' | 'settle'>,
  { alerts, remaining }: AlertedPatch,
  { id: owner, before, after }: PatchedCredits,
): Promise<void> {
  if (alerts?.creditsBelow == null) return;
  if (after === null || after.metered) return requireThreshold(alerts, null);
  if (remaining != null) return requireThreshold(alerts, remaining);
  const [account] = await readCredits(context, [{ id: owner, credits: before }]);
  const { refills, storage } = context;
  const nowMs = storage.ledger.nowMs();
  requireThreshold(alerts, account === undefined ? null : refills.balance(account, before?.refill ?? null, nowMs));
}
