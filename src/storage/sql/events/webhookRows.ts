import type { WebhookRecord } from '../../../core/records.ts';
import type { StoredEvent } from '../../port/events.ts';
import { DELIVERY_STATES, type Delivery, type DeliveryState } from '../../port/webhooks.ts';

export interface WebhookRow {
  readonly id: string;
  readonly url: string;
  /** JSON of a `WantedColumn`; null = all events. */
  readonly types: string | null;
  readonly enabled: number;
  readonly paused_at_ms: number | null;
  readonly paused_because: string | null;
  readonly secret: string;
  readonly former_secret: string | null;
  readonly former_until_ms: number | null;
  readonly created_at_ms: number;
  readonly updated_at_ms: number | null;
  readonly revision: number;
}

/** Which events a webhook gets: their types, and of a webhook that is bound to apis, both. So binding needed no column of its own. */
type WantedColumn = readonly string[] | { readonly types: readonly string[] | null; readonly apis: readonly string[] };

export function toWantedColumn({ types, apiIds }: Pick<WebhookRecord, 'types' | 'apiIds'>): string | null {
  if (apiIds !== null) return JSON.stringify({ types, apis: apiIds } satisfies WantedColumn);
  return types === null ? null : JSON.stringify(types satisfies WantedColumn);
}

function fromWantedColumn(column: string | null): Pick<WebhookRecord, 'types' | 'apiIds'> {
  if (column === null) return { types: null, apiIds: null };
  const wanted = JSON.parse(column) as WantedColumn;
  return 'apis' in wanted ? { types: wanted.types, apiIds: wanted.apis } : { types: wanted, apiIds: null };
}

export function toWebhook(row: WebhookRow): WebhookRecord {
  return {
    id: row.id,
    url: row.url,
    ...fromWantedColumn(row.types),
    enabled: row.enabled === 1,
    pausedAtMs: row.paused_at_ms,
    pausedBecause: row.paused_because,
    secret: row.secret,
    formerSecret: row.former_secret,
    formerUntilMs: row.former_until_ms,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    revision: row.revision,
  };
}

export interface DeliveryRow {
  readonly webhook_id: string;
  readonly sequence: number;
  readonly event_id: string;
  readonly type: string;
  readonly state: number;
  readonly due_at_ms: number;
  readonly lease: string | null;
  readonly attempts: number;
  readonly queued_at_ms: number;
  readonly failing_since_ms: number | null;
  readonly last_at_ms: number | null;
  readonly last_status: number | null;
  readonly last_error: string | null;
}

export const DELIVERY_COLUMNS =
  'd.webhook_id, d.sequence, d.event_id, d.type, d.state, d.due_at_ms, d.lease, d.attempts, d.queued_at_ms, d.failing_since_ms, d.last_at_ms, d.last_status, d.last_error';

export function toDelivery(row: DeliveryRow): Delivery {
  return {
    webhookId: row.webhook_id,
    sequence: row.sequence,
    eventId: row.event_id,
    type: row.type,
    state: DELIVERY_STATES[row.state] ?? 'failed',
    dueAtMs: row.due_at_ms,
    isLeased: row.lease !== null,
    attempts: row.attempts,
    queuedAtMs: row.queued_at_ms,
    failingSinceMs: row.failing_since_ms,
    lastAtMs: row.last_at_ms,
    lastStatus: row.last_status,
    lastError: row.last_error,
  };
}

export function stateNumber(state: DeliveryState): number {
  return DELIVERY_STATES.indexOf(state);
}

export interface ClaimedRow extends DeliveryRow {
  readonly event_at_ms: number;
  readonly event_data: string;
}

export function toClaimedEvent(row: ClaimedRow): StoredEvent {
  return { sequence: row.sequence, id: row.event_id, type: row.type, atMs: row.event_at_ms, data: row.event_data };
}
