interface EventFacts {
  /** When it happens, for the wire schemas and the documentation. */
  readonly when: string;
  /** The actions of the audit log that are this event. */
  readonly actions: readonly string[];
}

/** Every type of event. */
export const EVENT_TYPES = {
  'key.created': { when: 'A key was created or imported.', actions: ['key.create'] },
  'key.updated': { when: 'A field, the balance, a role or a permission of a key was changed by a call.', actions: [] },
  'key.deleted': {
    when: 'A key was deleted, alone, with its customer, or with all keys of its api.',
    actions: ['key.delete'],
  },
  'key.restored': { when: 'A deleted key was restored.', actions: ['key.restore'] },
  'key.rotated': { when: 'A key got a new secret.', actions: ['key.rotate'] },
  'key.expiring': {
    when: 'A key is about to expire, as early as `alerts.expiresWithinMs` of the key, its customer or its plan says.',
    actions: [],
  },
  'identity.created': {
    when: 'A customer was created, by itself or with its first key.',
    actions: ['identity.create'],
  },
  'identity.updated': {
    when: 'A field of a customer was changed by a call.',
    actions: ['identity.update', 'identity.grantCredits', 'identity.adjustCredits'],
  },
  'identity.deleted': { when: 'A customer was deleted.', actions: ['identity.delete'] },
  'credits.low': {
    when: 'Fewer credits are left than `alerts.creditsBelow` of the key, customer or plan says. It comes once until the credits reach this number again.',
    actions: [],
  },
  'credits.exhausted': {
    when: 'No credits are left, or too few for a verification that was refused. Each of the two comes once until there are more credits.',
    actions: [],
  },
  'credits.refilled': { when: 'A refill has added credits.', actions: [] },
  'limit.reached': {
    when: 'A rate limit with `notify` has refused a verification. It comes once in a window, for the key or customer that the limit belongs to.',
    actions: [],
  },
  'reservation.expired': {
    when: 'A reservation was neither settled nor released in time. `onExpiry` says what became of its credits.',
    actions: [],
  },
  'plan.changed': {
    when: 'A customer, or a key without a customer, was put on a plan, moved to another one, left it, or will move at its next refill.',
    actions: ['identity.assignPlan', 'key.assignPlan'],
  },
  'plan.updated': { when: 'A plan was changed, for all customers and keys on it.', actions: ['plan.update'] },
  'webhook.paused': { when: 'A webhook is paused, because its target failed for three days.', actions: [] },
  'webhook.test': {
    when: '`webhooks.sendTest` was called. Only the webhook that it names gets this event.',
    actions: [],
  },
} as const satisfies Readonly<Record<string, EventFacts>>;

export type EventType = keyof typeof EVENT_TYPES;

export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as readonly EventType[];

/** The event of each action that has one of its own. */
const TYPE_OF_ACTION = new Map<string, EventType>(
  EVENT_TYPE_NAMES.flatMap((type) => EVENT_TYPES[type].actions.map((action) => [action, type] as const)),
);

/** The event that an action of the audit log is; null = none. Every other action on a key changes it. */
export function eventTypeOf(action: string): EventType | null {
  return TYPE_OF_ACTION.get(action) ?? (action.startsWith('key.') ? 'key.updated' : null);
}
