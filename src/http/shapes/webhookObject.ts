import { Type } from 'typebox';

import { MAX_APIS_PER_WEBHOOK, MAX_WEBHOOK_URL_LENGTH } from '../../core/bounds.ts';
import { EVENT_TYPE_NAMES } from '../../core/events.ts';
import type { WebhookRecord } from '../../core/records.ts';
import type { WebhookDeliveries } from '../../engine/admin/webhooks.ts';
import { component, field, optional } from '../../model/schema/described.ts';
import { EVENT_EXAMPLE, EventTypeName } from './eventObject.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { Flag, Id, orNull, strict, Text, Whole, words } from '../../model/schema/schemas.ts';

export const WebhookId = field(Id, 'The id of a webhook, as returned by `webhooks.createWebhook`.', EXAMPLE.webhookId);

export const EventId = field(Id, 'The id of an event, as returned by `events.listEvents`.', EXAMPLE.eventId);

export const TargetUrl = field(
  words(1, MAX_WEBHOOK_URL_LENGTH),
  'Where events are sent, with POST. It must begin with https and lead to a public address, unless KEYSTILE_WEBHOOK_ALLOW_PRIVATE is on.',
  EXAMPLE.webhookUrl,
);

const TypeList = Type.Array(EventTypeName, { minItems: 1, maxItems: EVENT_TYPE_NAMES.length });

export const WantedEvents = optional(
  orNull(TypeList),
  'The types of events that are sent. When absent (or null), all of them, including those of later versions.',
  ['key.created', 'key.deleted'],
);

export const BoundApis = optional(
  orNull(Type.Array(Id, { minItems: 1, maxItems: MAX_APIS_PER_WEBHOOK })),
  'The apis whose events are sent, by their ids. Events that belong to no api, such as those of customers and plans, are then not sent. When absent (or null), all events are sent.',
  [EXAMPLE.apiId],
);

/** The right to read all events: a root key that chooses or sees what a webhook gets, reads its events. */
export const READING_RIGHT = 'event.*.read_event';

export const BOUND_IS_ENOUGH =
  'For a webhook that is bound to apis, `event.<apiId>.read_event` on each of these apis is enough.';

const SECRET_WORDS = 'Keep it where the target can read it: it is shown only in this answer.';

export const SigningSecret = field(
  Text,
  `The secret that signs what is sent. ${SECRET_WORDS}`,
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
);

export const WebhookObject = component(
  'Webhook',
  strict({
    id: WebhookId,
    url: field(Text, 'Where events are sent.', EXAMPLE.webhookUrl),
    events: optional(Type.Array(Text), 'The types of events that are sent. Absent when all are.', ['key.created']),
    apis: optional(Type.Array(Text), 'The apis whose events are sent. Absent when events of everything are.', [
      EXAMPLE.apiId,
    ]),
    enabled: field(Flag, 'false: nothing is sent. Events are kept, and sent when it is enabled again.', true),
    pausedAt: optional(
      Whole,
      'When the service paused the webhook, because its target failed for three days, in unix milliseconds. Absent when it is not paused.',
      EXAMPLE.midnight,
    ),
    pausedBecause: optional(Text, 'How the last delivery failed before the pause.', 'The target answered 500.'),
    formerSecretUntil: optional(
      Whole,
      'Until when the secret before the last rotation still signs too, in unix milliseconds. Absent when there is no such secret.',
      EXAMPLE.nextMidnight,
    ),
    createdAt: field(Whole, 'When the webhook was created, in unix milliseconds.', EXAMPLE.midnight),
    updatedAt: optional(Whole, 'When it was last changed. Absent when it was never changed.', EXAMPLE.nextMidnight),
  }),
  'A target that events are sent to, without its secret.',
  { id: EXAMPLE.webhookId, url: EXAMPLE.webhookUrl, enabled: true, createdAt: EXAMPLE.midnight },
);

export function toWebhookObject(webhook: WebhookRecord): object {
  const { id, url, types, apiIds, enabled, pausedAtMs, pausedBecause, formerUntilMs, createdAtMs, updatedAtMs } =
    webhook;
  return {
    id,
    url,
    ...(types === null ? {} : { events: types }),
    ...(apiIds === null ? {} : { apis: apiIds }),
    enabled,
    ...(pausedAtMs === null ? {} : { pausedAt: pausedAtMs }),
    ...(pausedBecause === null ? {} : { pausedBecause }),
    ...(formerUntilMs === null ? {} : { formerSecretUntil: formerUntilMs }),
    createdAt: createdAtMs,
    ...(updatedAtMs === null ? {} : { updatedAt: updatedAtMs }),
  };
}

export const DeliveryStateName = component(
  'DeliveryState',
  Type.Enum(['waiting', 'delivered', 'failed']),
  '`waiting`: it is sent when its next try is due. `delivered`: the target answered with a status from 200 to 299. `failed`: given up after three days.',
  'delivered',
);

export const DELIVERY_EXAMPLE = {
  eventId: EXAMPLE.eventId,
  type: EVENT_EXAMPLE.type,
  state: 'delivered' as const,
  attempts: 1,
  queuedAt: EXAMPLE.midnight,
  lastAttemptAt: EXAMPLE.midnight,
  lastStatus: 204,
};

export const DeliveryObject = component(
  'Delivery',
  strict({
    eventId: EventId,
    type: field(Text, 'The type of the event.', EVENT_EXAMPLE.type),
    state: field(DeliveryStateName),
    attempts: field(Whole, 'How often it was sent.', 1),
    queuedAt: field(
      Whole,
      'When the event was put in the queue of the webhook, in unix milliseconds.',
      EXAMPLE.midnight,
    ),
    nextAttemptAt: optional(
      Whole,
      'When it is sent next, in unix milliseconds. Absent when it is finished, and while it is being sent.',
      EXAMPLE.nextMidnight,
    ),
    lastAttemptAt: optional(Whole, 'When it was last sent. Absent when it was not sent yet.', EXAMPLE.midnight),
    lastStatus: optional(Whole, 'The HTTP status of the last answer. Absent when there was none.', 204),
    lastError: optional(
      Text,
      'Why the last try failed. Absent when it did not.',
      'There was no answer within 10000 ms.',
    ),
  }),
  'What became of an event for a webhook.',
  DELIVERY_EXAMPLE,
);

type Delivery = Awaited<ReturnType<WebhookDeliveries['list']>>[number];

export function toDeliveryObject(delivery: Delivery, nowMs: number): object {
  const { eventId, type, state, attempts, queuedAtMs, dueAtMs, isLeased, lastAtMs, lastStatus, lastError } = delivery;
  const isBeingSent = isLeased && nowMs < dueAtMs;
  return {
    eventId,
    type,
    state,
    attempts,
    queuedAt: queuedAtMs,
    ...(state === 'waiting' && !isBeingSent ? { nextAttemptAt: dueAtMs } : {}),
    ...(lastAtMs === null ? {} : { lastAttemptAt: lastAtMs }),
    ...(lastStatus === null ? {} : { lastStatus }),
    ...(lastError === null ? {} : { lastError }),
  };
}
