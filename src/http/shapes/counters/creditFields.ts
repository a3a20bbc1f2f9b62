import { Type } from 'typebox';

import { REFILL_INTERVALS } from '../../../core/calendar.ts';
import { component, field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { Flag, orNull, Positive, strict, Text, Whole, words } from '../../../model/schema/schemas.ts';

/** The refill of credits, as a request sets it and as an answer shows it. */

const INTERVAL_WORDS =
  '`hourly`: at each full hour. `daily`: at midnight. `weekly`: at midnight on Monday, or on `refillWeekday`. `monthly`: at midnight on the first day of the month, or on `refillDay`. The clock is that of `timezone`.';
const AMOUNT_WORDS =
  'How many credits. `restore` raises the counter to this number and never lowers it; `add` adds this number.';
const MODE_WORDS =
  '`restore`: each refill raises the counter to `amount` and never lowers it. `add`: each refill adds `amount`, up to `max`.';

const Interval = Type.Enum([...REFILL_INTERVALS]);
const Mode = Type.Enum(['restore', 'add']);

export const Refill = component(
  'Refill',
  strict({
    interval: field(Interval, INTERVAL_WORDS, 'monthly'),
    amount: field(Positive, `${AMOUNT_WORDS} At least 1.`, 1000),
    refillDay: optional(
      orNull(Type.Integer({ minimum: 1, maximum: 31 })),
      'The day of the month, from 1 to 31, only with the interval `monthly`. A shorter month uses its last day. The first day when null or absent.',
      15,
    ),
    refillWeekday: optional(
      orNull(Type.Integer({ minimum: 1, maximum: 7 })),
      'The day of the week, from 1 (Monday) to 7 (Sunday), only with the interval `weekly`. Monday when null or absent.',
      5,
    ),
    timezone: optional(
      words(1, 64, 'time-zone'),
      'The IANA time zone whose clock counts. The setting KEYSTILE_TIMEZONE (UTC) when absent.',
      'Europe/Berlin',
    ),
    mode: optional(Mode, `${MODE_WORDS} \`restore\` when absent.`, 'restore'),
    max: optional(
      Positive,
      'The most that the mode `add` fills the counter to, at least 1. Allowed only with `add`. No ceiling when absent.',
      5000,
    ),
  }),
  'When credits are refilled, and with how many. A refill needs a counter, so `remaining` must be set.',
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
    timezone: field(Text, 'The IANA time zone whose clock counts.', 'UTC'),
    mode: field(Mode, MODE_WORDS, 'restore'),
    max: optional(Whole, 'The most that the mode `add` fills the counter to. Absent when there is no ceiling.', 5000),
    lastRefillAt: optional(
      Whole,
      'The time of the last refill, in unix milliseconds. Absent before the first one.',
      EXAMPLE.midnight,
    ),
    nextRefillAt: optional(Whole, 'The time of the next refill, in unix milliseconds.', EXAMPLE.nextMidnight),
  }),
  'The refill of a counter, with the times of the last and the next refill.',
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

const METERED = 'true: what is spent is counted exactly, without a balance (pay as you go)';

export const SHOWN_METERED = optional(Flag, `${METERED}. Absent otherwise.`, true);

/** Of a new key, identity or plan. */
export const NewMetered = optional(Flag, `${METERED}. Not together with \`remaining\`. false when absent.`, true);

/** Of a change. */
export const ChangedMetered = optional(
  Flag,
  `${METERED}, and a balance ends. false: it is no longer counted. It stays as it is when absent.`,
  true,
);
