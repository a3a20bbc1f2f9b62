import { Type } from 'typebox';

import { MAX_ALERT_MS, MAX_REASON_LENGTH, MIN_ALERT_MS } from '../../../core/bounds.ts';
import { REFILL_INTERVALS } from '../../../core/calendar.ts';
import type { Alerts } from '../../../core/records.ts';
import type { CreditsView } from '../../../engine/admin/readKeys.ts';
import { component, EXPECTED, field, listOf, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import {
  Flag,
  IDEMPOTENCY_PATTERN,
  IDEMPOTENCY_WORDS,
  orNull,
  Positive,
  strict,
  Text,
  Whole,
  words,
} from '../../../model/schema/schemas.ts';

const INTERVAL_WORDS =
  '`hourly`: at each full hour. `daily`: at midnight. `weekly`: at midnight on Monday, or on `refillWeekday`. `monthly`: at midnight on the first day of the month, or on `refillDay`. All by the clock of `timezone`.';
const AMOUNT_WORDS =
  'How many credits. `restore` raises the credits to this number and never lowers them; `add` adds this number.';
const MODE_WORDS =
  '`restore`: each refill raises the credits to `amount` and never lowers them. `add`: each refill adds `amount`, up to `max`.';

const Interval = Type.Enum([...REFILL_INTERVALS]);
const Mode = Type.Enum(['restore', 'add']);

export const Refill = component(
  'Refill',
  strict({
    interval: field(Interval, INTERVAL_WORDS, 'monthly'),
    amount: field(Positive, `${AMOUNT_WORDS} At least 1.`, 1000),
    refillDay: optional(
      orNull(Type.Integer({ minimum: 1, maximum: 31 })),
      'The day of the month, from 1 to 31, only with the interval `monthly`. A shorter month uses its last day. The first day when absent (or null).',
      15,
    ),
    refillWeekday: optional(
      orNull(Type.Integer({ minimum: 1, maximum: 7 })),
      'The day of the week, from 1 (Monday) to 7 (Sunday), only with the interval `weekly`. Monday when absent (or null).',
      5,
    ),
    timezone: optional(
      words(1, 64, 'time-zone'),
      'The IANA time zone of the refill. The setting KEYSTILE_TIMEZONE (UTC) when absent.',
      'Europe/Berlin',
    ),
    mode: optional(Mode, `${MODE_WORDS} \`restore\` when absent.`, 'restore'),
    max: optional(
      Positive,
      'The most credits that the mode `add` fills up to, at least 1. Allowed only with `add`. No maximum when absent.',
      5000,
    ),
  }),
  'When credits are refilled, and with how many. A refill needs credits, so `remaining` must be set.',
  { interval: 'monthly', amount: 1000 },
);

export const RefillObject = component(
  'RefillState',
  strict({
    interval: field(Interval, INTERVAL_WORDS, 'daily'),
    amount: field(Whole, AMOUNT_WORDS, 100),
    refillDay: field(
      orNull(Whole),
      'The day of the month, from 1 to 31. null: the first day, or no monthly refill.',
      15,
    ),
    refillWeekday: optional(Whole, 'The day of the week of a weekly refill, from 1 (Monday) to 7 (Sunday).', 5),
    timezone: field(Text, 'The IANA time zone of the refill.', 'UTC'),
    mode: field(Mode, MODE_WORDS, 'restore'),
    max: optional(Whole, 'The most credits that the mode `add` fills up to. Absent when there is no maximum.', 5000),
    lastRefillAt: optional(
      Whole,
      'The time of the last refill, in unix milliseconds. Absent before the first one.',
      EXAMPLE.midnight,
    ),
    nextRefillAt: optional(Whole, 'The time of the next refill, in unix milliseconds.', EXAMPLE.nextMidnight),
  }),
  'A refill of credits, with the times of the last and the next one.',
  {
    interval: 'daily',
    amount: 100,
    refillDay: null,
    timezone: 'UTC',
    mode: 'restore',
    lastRefillAt: EXAMPLE.midnight,
    nextRefillAt: EXAMPLE.nextMidnight,
  },
);

const METERED = 'true: spent credits are counted exactly, without a balance (pay as you go)';

export const SHOWN_METERED = optional(Flag, `${METERED}. Absent otherwise.`, true);

/** Of a new key, customer or plan. */
export const NewMetered = optional(Flag, `${METERED}. Not together with \`remaining\`. false when absent.`, true);

/** Of a change. */
export const ChangedMetered = optional(
  Flag,
  `${METERED}. An existing balance ends. false: they are no longer counted. It stays as it is when absent.`,
  true,
);

export const CallIdempotencyKey = Type.String({ pattern: IDEMPOTENCY_PATTERN, [EXPECTED]: IDEMPOTENCY_WORDS });

export const Reason = field(
  words(1, MAX_REASON_LENGTH),
  'Why, for the audit log, 1 to 256 characters.',
  'payment in_1Nabc',
);

export const REPLAYED = optional(
  Flag,
  'true: the call was made before with the same idempotency key, and nothing changed now. Absent otherwise.',
  true,
);

/** What `credits.grant` and `credits.adjust` answer besides their id. */
export const CALL_ANSWER = {
  remaining: field(Whole, 'The credits after the call, without those that reservations hold.', 1500),
  replayed: REPLAYED,
};

const GrantObject = component(
  'Grant',
  strict({
    left: field(Whole, 'The credits of the grant that are left.', 500),
    expiresAt: optional(
      Whole,
      'When they expire, in unix milliseconds. Absent when they do not expire; they are then spent after all other credits.',
      EXAMPLE.nextMidnight,
    ),
  }),
  'Granted credits. Those that expire are spent before all other credits, soonest expiry first. Those that do not expire are spent last. Refills leave granted credits as they are.',
  { left: 500, expiresAt: EXAMPLE.nextMidnight },
);

/** What an answer shows of credits beside `remaining`. */
export const BALANCE_FIELDS = {
  held: optional(
    Whole,
    'The credits that reservations hold. They are not in `remaining`. Absent when nothing is held.',
    40,
  ),
  grants: Type.Optional(
    listOf(
      GrantObject,
      'The part of `remaining` that was granted, in the order in which it is spent. All credits that do not expire are one entry. Absent when none were granted.',
    ),
  ),
};

export function toBalance({ remaining, held, grants, lasting }: CreditsView): object {
  return {
    ...(remaining === null ? {} : { remaining }),
    ...(held === 0 ? {} : { held }),
    ...(grants.length + lasting === 0
      ? {}
      : {
          grants: [
            ...grants.map(({ left, expiresAtMs }) => ({ left, expiresAt: expiresAtMs })),
            ...(lasting === 0 ? [] : [{ left: lasting }]),
          ],
        }),
  };
}

const ALERTS_EXAMPLE = { expiresWithinMs: 604_800_000, creditsBelow: 100 };
const WITHIN_WORDS =
  'How long before a key expires the event `key.expiring` is sent, in milliseconds, from a minute to 366 days. It is sent once for each key and expiry.';
const BELOW_WORDS =
  'The event `credits.low` is sent when fewer credits than this are left. It is sent once, until the credits reach this number again.';
const INHERITED = 'A field that is absent is taken from the customer or the plan.';
const Within = Type.Integer({ minimum: MIN_ALERT_MS, maximum: MAX_ALERT_MS });

/** The alerts, as a request sets them. */
export const AlertsInput = component(
  'AlertsInput',
  strict({
    expiresWithinMs: optional(orNull(Within), `${WITHIN_WORDS} null removes it.`, ALERTS_EXAMPLE.expiresWithinMs),
    creditsBelow: optional(
      orNull(Positive),
      `${BELOW_WORDS} At least 1, and at most the credits that are left. Needs credits. null removes it.`,
      ALERTS_EXAMPLE.creditsBelow,
    ),
  }),
  'When an event warns that a key is about to expire or that credits run low. A field that is absent stays as it is.',
  ALERTS_EXAMPLE,
);

export const AlertsObject = component(
  'Alerts',
  strict({
    expiresWithinMs: optional(Within, WITHIN_WORDS, ALERTS_EXAMPLE.expiresWithinMs),
    creditsBelow: optional(Positive, BELOW_WORDS, ALERTS_EXAMPLE.creditsBelow),
  }),
  `When an event warns that a key is about to expire or that credits run low. ${INHERITED}`,
  ALERTS_EXAMPLE,
);

/** Absent when none is set. */
export function showAlerts(alerts: Alerts | null): object {
  return alerts === null ? {} : { alerts };
}
