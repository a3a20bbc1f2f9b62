/** Every type of event, and when it happens. The wire schemas and the documentation read this table. */
export const EVENT_TYPES = {
  'key.created': 'A key was created or imported.',
  'key.updated': 'A field, the balance, a role or a permission of a key was changed by a call.',
  'key.deleted': 'A key was deleted, alone, with its identity, or with all keys of its api.',
  'key.restored': 'A deleted key was restored.',
  'key.rotated': 'A key has a new secret.',
  'key.expiring':
    'A key is about to expire, as early as `alerts.expiresWithinMs` of the key, its identity or its plan says.',
  'identity.created': 'An identity was created, by itself or with its first key.',
  'identity.updated': 'A field of an identity was changed by a call.',
  'identity.deleted': 'An identity was deleted.',
  'credits.low':
    'A balance is below `alerts.creditsBelow` of its key, identity or plan. It comes once until the balance reaches the threshold again.',
  'credits.exhausted':
    'A balance is 0, or too small for a verification that was refused. Each of the two comes once until there are more credits.',
  'credits.refilled': 'A refill has added credits.',
  'limit.reached':
    'A rate limit with `notify` has refused a verification. It comes once in a window, for the key or identity that the limit counts for.',
  'reservation.expired':
    'A reservation was neither settled nor released in time. `onExpiry` says what became of its credits.',
  'plan.changed':
    'An identity, or a key without one, was put on a plan, moved to another one or left it, or is to move at its next refill.',
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
  'identity.grantCredits': 'identity.updated',
  'identity.adjustCredits': 'identity.updated',
  'identity.assignPlan': 'plan.changed',
  'key.assignPlan': 'plan.changed',
  'plan.update': 'plan.updated',
};

/** The event that an action of the audit log is; null = none. Every other action on a key changes it. */
export function eventTypeOf(action: string): EventType | null {
  return TYPE_OF_ACTION[action] ?? (action.startsWith('key.') ? 'key.updated' : null);
}
