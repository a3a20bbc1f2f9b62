import type { Alerts, Refill, SharedRatelimit } from '../../../sdk/src/generated/api.ts';
import { alertWords, limitWords, refillWords } from '../show.tsx';
import { AlertsInput } from './alertsInput.tsx';
import type { EditedField } from './editForm.tsx';
import { flagField } from './fields.tsx';
import { LimitsInput } from './limitsInput.tsx';
import { RefillInput } from './refillInput.tsx';

/** Limits, each with its name. */
export function limitsField<Of>(
  { name, label }: { readonly name: string; readonly label: string },
  value: (record: Of) => readonly SharedRatelimit[],
): EditedField<Of> {
  return {
    name,
    label,
    text: (record) => limitsText(value(record)),
    inWords: (text) => limitWords(limitsOf(text)),
    input: (text) => <LimitsInput label={label} name={name} text={text} />,
    toPatch: (text) => ({ [name]: limitsOf(text) }),
  };
}

function limitsText(limits: readonly SharedRatelimit[]): string {
  const shown = limits.map(({ name, limit, duration, async, notify, autoApply }) => ({
    name,
    limit,
    duration,
    async,
    notify,
    autoApply,
  }));
  return shown.length === 0 ? '' : JSON.stringify(shown);
}

export function limitsOf(text: string): readonly SharedRatelimit[] {
  return text === '' ? [] : (JSON.parse(text) as SharedRatelimit[]);
}

export function refillField<Of>(value: (record: Of) => Refill | undefined): EditedField<Of> {
  return {
    name: 'refill',
    label: 'Refill',
    text: (record) => refillText(value(record)),
    inWords: (text) => refillWords(refillOf(text)),
    input: (text) => <RefillInput text={text} />,
    toPatch: (text) => ({ refill: refillOf(text) ?? null }),
  };
}

/** Without the times of the last and the next refill, which are no part of the rule. */
function refillText(refill: Refill | undefined): string {
  if (refill === undefined) return '';
  const { interval, amount, refillDay, refillWeekday, timezone, mode, max } = refill;
  return JSON.stringify({
    interval,
    amount,
    refillDay: refillDay ?? undefined,
    refillWeekday: refillWeekday ?? undefined,
    timezone,
    mode,
    max,
  });
}

function refillOf(text: string): Refill | undefined {
  return text === '' ? undefined : (JSON.parse(text) as Refill);
}

interface Metered {
  readonly metered?: boolean | undefined;
}

/** What is spent is counted without a balance. */
export function meteredField<Of extends Metered>(): EditedField<Of> {
  return flagField<Of>(
    {
      name: 'metered',
      label: 'Pay as you go',
      words: ['yes: spent credits are counted, without a balance', 'no'],
      hint: 'An existing balance ends.',
    },
    ({ metered }) => metered === true,
  );
}

interface Alerting {
  readonly alerts?: Alerts | undefined;
}

/**
 * When events warn. Only what was changed is sent: a threshold that stays may be above a balance that has fallen since. `ofCredits`: there are
 * credits that can run low. Without them a threshold is removed.
 */
export function alertsField<Of extends Alerting>({ alerts: before }: Alerting, ofCredits: boolean): EditedField<Of> {
  return {
    name: 'alerts',
    label: 'Alerts',
    text: ({ alerts }) => (alerts === undefined ? '' : JSON.stringify(alerts)),
    inWords: (text) => alertWords(alertsOf(text)),
    input: (text) => <AlertsInput text={text} ofCredits={ofCredits} />,
    toPatch(text) {
      if (text === '') return { alerts: null };
      const { creditsBelow, expiresWithinMs } = alertsOf(text) ?? {};
      return {
        alerts: {
          ...(creditsBelow === before?.creditsBelow && ofCredits
            ? {}
            : { creditsBelow: ofCredits ? (creditsBelow ?? null) : null }),
          ...(expiresWithinMs === before?.expiresWithinMs ? {} : { expiresWithinMs: expiresWithinMs ?? null }),
        },
      };
    },
  };
}

function alertsOf(text: string): Alerts | undefined {
  return text === '' ? undefined : (JSON.parse(text) as Alerts);
}
