import type { WebhookRecord } from '../core/records.ts';
import type { WebhookFact } from './facts.ts';

/** Of the webhooks that are in use, what can be wrong with each. `failing` says since when its target fails. */
export function webhookFacts(
  all: readonly WebhookRecord[],
  failing: ReadonlyMap<string, number>,
): readonly WebhookFact[] {
  return all
    .filter(({ enabled }) => enabled)
    .map(({ id, url, pausedBecause }) => ({
      id,
      host: URL.canParse(url) ? new URL(url).host : 'an address that cannot be read',
      pausedBecause,
      failingSinceMs: failing.get(id) ?? null,
    }));
}
