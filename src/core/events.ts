/** Every type of event, and when it happens. The wire schemas and the documentation read this table. */
export const EVENT_TYPES = {
  'key.created': 'A key was created or imported.',
  'key.updated': 'A field, the balance, a role or a permission of a key was changed by a call.',
  'key.deleted': 'A key was deleted, alone, with its identity, or with all keys of its api.',
  'key.restored': 'A deleted key was restored.',
  'key.rotated': 'A key has a new secret.',
  'key.expiring': 'A key is about to expire, as early as `alerts.expiresWithinMs` of the key or its identity says.',
  'identity.created': 'An identity was created, by itself or with its first key.',
  'identity.updated': 'A field of an identity was changed by a call.',
  'identity.deleted': 'An identity was deleted.',
  'plan.changed': 'An identity was put on a plan, moved to another one or left it, or is to move at its next refill.',
  'plan.updated': 'A plan was changed for all its holders.',
  'webhook.paused': 'A webhook is paused, because its target failed for three days.',
  'webhook.test': 'webhooks.sendTest was called. Only the webhook that it names gets this event.',
} as const;

export type EventType = keyof typeof EVENT_TYPES;

export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as readonly EventType[];

/** Actions of the audit log that have an event of their own. */
const TYPE_OF_ACTION: Readonly<Record<string, EventType>> = {
  'key.create': 'key.created',
  'key.delete': 'key.deleted',
  'key.restore': 'key.restored',
  'key.rotate': 'key.rotated',
  'identity.create': 'identity.created',
  'identity.update': 'identity.updated',
  'identity.delete': 'identity.deleted',
  'identity.assignPlan': 'plan.changed',
  'plan.update': 'plan.updated',
};

/** The event that an action of the audit log is; null = none. Every other action on a key changes it. */
export function eventTypeOf(action: string): EventType | null {
  return TYPE_OF_ACTION[action] ?? (action.startsWith('key.') ? 'key.updated' : null);
}
