import type { WebhookRecord } from '../../../core/records.ts';
import type { TaskLog } from '../../../storage/port/tasks.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import { SYSTEM } from '../change/actor.ts';
import { emptyDraft } from '../change/draft.ts';
import { auditedWebhook } from './auditedWebhook.ts';
import type { WebhookContext } from './webhookContext.ts';

/** Stops sending to a target that failed for days. Reports it in the audit log, to the other webhooks and in the log of the process. */
export async function pauseWebhook(
  { changes, storage, events }: WebhookContext,
  webhookId: string,
  because: string,
  log: Pick<TaskLog, 'warn'>,
): Promise<void> {
  const isPaused = await changes.apply(async () => {
    const before = await storage.webhooks.find(webhookId);
    if (before === null || before.pausedAtMs !== null) return { change: emptyDraft(), answer: () => false };
    const nowMs = storage.ledger.nowMs();
    const revision = before.revision + 1;
    const webhook: WebhookRecord = {
      ...before,
      pausedAtMs: nowMs,
      pausedBecause: because,
      updatedAtMs: nowMs,
      revision,
    };
    const facts = { before: auditedWebhook(before), after: auditedWebhook(webhook) };
    return {
      change: {
        writes: [{ kind: 'updateWebhook', webhook, expect: before.revision, resumesAtMs: null }],
        accounts: [],
        entries: [auditEntry(SYSTEM, { action: 'webhook.pause', target: webhookId, ...facts })],
        events: [events.make('webhook.paused', { webhookId }, { because })],
      },
      answer: () => true,
    };
  });
  if (isPaused) {
    log.warn('a webhook is paused: its target failed for three days; enable it with webhooks.updateWebhook', {
      webhook: webhookId,
      reason: because,
    });
  }
}
