import { Type } from 'typebox';

import { MAX_ALERT_MS, MIN_ALERT_MS } from '../../../core/bounds.ts';
import type { Alerts } from '../../../core/records.ts';
import { component, optional } from '../../../model/schema/described.ts';
import { orNull, Positive, strict } from '../../../model/schema/schemas.ts';

const EXAMPLE = { expiresWithinMs: 604_800_000, creditsBelow: 100 };
const WITHIN_WORDS =
  'How long before its expiry the event `key.expiring` tells of a key, in milliseconds, from a minute to 366 days. It comes once for each key and expiry.';
const BELOW_WORDS =
  'The event `credits.low` tells that the balance is below this number. It comes once until the balance reaches the number again.';
const INHERITED = 'A field that is absent is that of the identity or the plan.';
const Within = Type.Integer({ minimum: MIN_ALERT_MS, maximum: MAX_ALERT_MS });

/** What an event tells of in advance, as a request sets it. */
export const AlertsInput = component(
  'AlertsInput',
  strict({
    expiresWithinMs: optional(orNull(Within), `${WITHIN_WORDS} null removes it.`, EXAMPLE.expiresWithinMs),
    creditsBelow: optional(
      orNull(Positive),
      `${BELOW_WORDS} At least 1 and at most the present balance. Needs credits. null removes it.`,
      EXAMPLE.creditsBelow,
    ),
  }),
  'When an event tells that something is about to end. A field that is absent stays as it is.',
  EXAMPLE,
);

export const AlertsObject = component(
  'Alerts',
  strict({
    expiresWithinMs: optional(Within, WITHIN_WORDS, EXAMPLE.expiresWithinMs),
    creditsBelow: optional(Positive, BELOW_WORDS, EXAMPLE.creditsBelow),
  }),
  `When an event tells that something is about to end. ${INHERITED}`,
  EXAMPLE,
);

/** Absent when none is set. */
export function showAlerts(alerts: Alerts | null): object {
  return alerts === null ? {} : { alerts };
}
