import { useState } from 'preact/hooks';

import type { Alerts } from '../../../sdk/src/generated/api.ts';
import { Field } from '../form.tsx';

const DAY_MS = 86_400_000;

/** When events warn. The form gets the alerts as JSON; '' for none. `ofCredits`: there are credits that can run low. */
export function AlertsInput({ text, ofCredits }: { readonly text: string; readonly ofCredits: boolean }) {
  const [alerts, setAlerts] = useState<Alerts>(() => (text === '' ? {} : (JSON.parse(text) as Alerts)));
  const { creditsBelow, expiresWithinMs } = alerts;
  const given = JSON.stringify(alerts);
  return (
    <fieldset>
      <legend>Alerts</legend>
      <input type="hidden" name="alerts" value={given === '{}' ? '' : given} />
      {ofCredits && (
        <Warning
          label="Alert below this many credits"
          value={creditsBelow}
          step={1}
          onValue={(value) => setAlerts({ ...alerts, creditsBelow: value })}
        />
      )}
      <Warning
        label="Alert this many days before expiry"
        value={expiresWithinMs === undefined ? undefined : expiresWithinMs / DAY_MS}
        step="any"
        onValue={(days) =>
          setAlerts({ ...alerts, expiresWithinMs: days === undefined ? undefined : Math.round(days * DAY_MS) })
        }
      />
    </fieldset>
  );
}

function Warning({
  label,
  value,
  step,
  onValue,
}: {
  readonly label: string;
  readonly value: number | undefined;
  readonly step: 1 | 'any';
  readonly onValue: (value: number | undefined) => void;
}) {
  return (
    <Field label={label} hint="An event tells you. Leave empty for none, or for that of the customer or plan.">
      {(ids) => (
        <input
          {...ids}
          type="number"
          min={step === 1 ? 1 : 0}
          step={step}
          value={value ?? ''}
          onInput={({ currentTarget: { value: typed } }) => onValue(typed === '' ? undefined : Number(typed))}
        />
      )}
    </Field>
  );
}
