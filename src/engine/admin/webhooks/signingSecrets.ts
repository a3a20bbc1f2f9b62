import type { WebhookRecord } from '../../../core/records.ts';
import type { SecretBox } from './outgoing.ts';

/** The secrets that sign now, the newest first; null = the present one cannot be decrypted. */
export function signingSecrets(box: SecretBox | null, webhook: WebhookRecord, nowMs: number): readonly string[] | null {
  const present = box?.open(webhook.secret, webhook.id) ?? null;
  if (present === null) return null;
  const isFormerValid = webhook.formerSecret !== null && nowMs < (webhook.formerUntilMs ?? 0);
  const former = isFormerValid ? box?.open(webhook.formerSecret ?? '', webhook.id) : null;
  return former == null ? [present] : [present, former];
}
