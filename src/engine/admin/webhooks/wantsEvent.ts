import type { EventType } from '../../../core/events.ts';
import type { WebhookRecord } from '../../../core/records.ts';
import type { StoredEvent } from '../../../storage/port/events.ts';

const TEST: EventType = 'webhook.test';

/** Whether a webhook gets this event. A test is for the one webhook that it names, whichever types that one gets. */
export function wantsEvent({ id, types }: WebhookRecord, { type, data }: StoredEvent): boolean {
  if (type === TEST) return (JSON.parse(data) as { webhookId?: string }).webhookId === id;
  return types === null || types.includes(type);
}
