import type { EventType } from '../../../core/events.ts';
import type { WebhookRecord } from '../../../core/records.ts';
import type { StoredEvent } from '../../../storage/port/events.ts';
import type { Records } from '../../../storage/port/records.ts';

const TEST: EventType = 'webhook.test';

type KeyReader = Pick<Records, 'findAnyKey'>;

/** What an event says of the records that it is about. */
interface EventIds {
  readonly webhookId?: string;
  readonly apiId?: string;
  readonly keyId?: string;
}

const idsOf = ({ data }: StoredEvent): EventIds => JSON.parse(data) as EventIds;

/** Whether a webhook gets this event. A test is for the one webhook that it names, whichever events that one gets. */
export async function wantsEvent(webhook: WebhookRecord, event: StoredEvent, records: KeyReader): Promise<boolean> {
  if (event.type === TEST) return idsOf(event).webhookId === webhook.id;
  if (webhook.types !== null && !webhook.types.includes(event.type)) return false;
  return mayGetEvent(webhook, event, records);
}

/** Whether an event may be sent to a webhook at all, also by hand: one that is bound to apis gets events of these, and tests. */
export async function mayGetEvent(
  { id, apiIds }: WebhookRecord,
  event: StoredEvent,
  records: KeyReader,
): Promise<boolean> {
  if (apiIds === null) return true;
  const ids = idsOf(event);
  if (event.type === TEST) return ids.webhookId === id;
  const apiId = ids.apiId ?? (ids.keyId === undefined ? null : await apiOfKey(ids.keyId, records));
  return apiId !== null && apiIds.includes(apiId);
}

/** `reservation.expired` names the key, and not its api. */
async function apiOfKey(keyId: string, records: KeyReader): Promise<string | null> {
  const found = await records.findAnyKey(keyId);
  if (found === null) return null;
  return 'poisoned' in found ? found.apiId : found.key.apiId;
}
