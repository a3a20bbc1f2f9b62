import type { WebhookRecord } from '../../../core/records.ts';
import type { RecordWrite } from '../../port/writes.ts';
import { toWantedColumn } from './webhookRows.ts';
import { insert, type Params, remove, update, type WriteStatement } from '../query/statement.ts';

type WebhookWrite = Extract<RecordWrite, { kind: 'insertWebhook' | 'updateWebhook' | 'removeWebhook' | 'redeliver' }>;

export function webhookStatements(write: WebhookWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertWebhook':
      return [insert('webhooks', webhookColumns(write.webhook)), beginQueue(write.webhook.id)];
    case 'updateWebhook': {
      const { webhook, expect, resumesAtMs } = write;
      const updated = update('webhooks', webhookColumns(webhook), { id: webhook.id, revision: expect });
      return resumesAtMs === null ? [updated] : [updated, resume(webhook.id, resumesAtMs)];
    }
    case 'removeWebhook':
      return [
        remove('webhooks', { id: write.webhookId, revision: write.expect }),
        { ...remove('webhook_queues', { webhook_id: write.webhookId }), expects: null },
        { ...remove('deliveries', { webhook_id: write.webhookId }), expects: null },
      ];
    case 'redeliver':
      return [redeliver(write)];
  }
}

/** An event that is written at the same time, and that this statement cannot see yet, has a higher sequence. */
function beginQueue(webhookId: string): WriteStatement {
  return {
    sql: 'INSERT INTO webhook_queues (webhook_id, queued_to) SELECT $1, coalesce(max(sequence), 0) FROM events',
    params: [webhookId],
    expects: 1,
  };
}

/** What a node sends at the moment stays with it until the end of its lease. */
function resume(webhookId: string, atMs: number): WriteStatement {
  return {
    sql: `UPDATE deliveries SET failing_since_ms = NULL,
        due_at_ms = CASE WHEN lease IS NULL THEN CAST($1 AS bigint) ELSE due_at_ms END
      WHERE webhook_id = $2 AND state = 0`,
    params: [atMs, webhookId],
    expects: null,
  };
}

function redeliver({ webhookId, eventId, atMs }: Extract<WebhookWrite, { kind: 'redeliver' }>): WriteStatement {
  return {
    sql: `INSERT INTO deliveries (webhook_id, sequence, event_id, type, state, due_at_ms, attempts, queued_at_ms)
      SELECT q.webhook_id, e.sequence, e.id, e.type, 0, CAST($1 AS bigint), 0, CAST($1 AS bigint)
      FROM events e, webhook_queues q WHERE e.id = $2 AND q.webhook_id = $3
      ON CONFLICT (webhook_id, sequence) DO UPDATE SET state = 0, due_at_ms = excluded.due_at_ms, lease = NULL, failing_since_ms = NULL`,
    params: [atMs, eventId, webhookId],
    expects: 1,
  };
}

function webhookColumns(webhook: WebhookRecord): Record<string, Params[number]> {
  return {
    id: webhook.id,
    url: webhook.url,
    types: toWantedColumn(webhook),
    enabled: webhook.enabled ? 1 : 0,
    paused_at_ms: webhook.pausedAtMs,
    paused_because: webhook.pausedBecause,
    secret: webhook.secret,
    former_secret: webhook.formerSecret,
    former_until_ms: webhook.formerUntilMs,
    created_at_ms: webhook.createdAtMs,
    updated_at_ms: webhook.updatedAtMs,
    revision: webhook.revision,
  };
}
