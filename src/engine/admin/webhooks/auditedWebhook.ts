import type { WebhookRecord } from '../../../core/records.ts';

/** A webhook as the audit log shows it: without its secrets, and without the query of its URL, which may hold a token. */
export function auditedWebhook({ url, types, apiIds, enabled, pausedAtMs }: WebhookRecord): Record<string, unknown> {
  return { url: url.split(/[?#]/)[0], events: types, apis: apiIds, enabled, paused: pausedAtMs !== null };
}
