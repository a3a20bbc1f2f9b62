import { type Static, Type } from 'typebox';

import { MAX_ALERT_MS, MIN_ALERT_MS } from '../../core/bounds.ts';
import type { Alerts } from '../../core/records.ts';
import { component, field } from './described.ts';
import { strict } from './schemas.ts';

const EXAMPLE = { expiresWithinMs: 604_800_000 };

/** What an event tells of in advance. */
export const AlertsObject = component(
  'Alerts',
  strict({
    expiresWithinMs: field(
      Type.Integer({ minimum: MIN_ALERT_MS, maximum: MAX_ALERT_MS }),
      'How long before its expiry the event `key.expiring` tells of a key, in milliseconds, from a minute to 366 days. It comes once for each key and expiry.',
      EXAMPLE.expiresWithinMs,
    ),
  }),
  'When an event tells that something is about to end.',
  EXAMPLE,
);

export function toAlerts(alerts: Static<typeof AlertsObject> | null): Alerts | null {
  return alerts === null ? null : { expiresWithinMs: alerts.expiresWithinMs };
}

/** Absent when none is set. */
export function showAlerts(alerts: Alerts | null): object {
  return alerts === null ? {} : { alerts };
}
