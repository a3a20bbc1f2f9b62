import { useState } from 'preact/hooks';

import type { Refill } from '../../../sdk/src/generated/api.ts';
import { Field } from '../form.tsx';
import { Select } from '../select.tsx';

const INTERVALS = [
  ['', 'no refill'],
  ['hourly', 'every hour'],
  ['daily', 'every day at midnight'],
  ['weekly', 'every week'],
  ['monthly', 'every month'],
] as const;

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/** When credits are refilled, and with how many. The form gets the refill as JSON; '' for none. */
export function RefillInput({ text, name = 'refill' }: { readonly text: string; readonly name?: string }) {
  const [refill, setRefill] = useState<Refill | null>(() => (text === '' ? null : (JSON.parse(text) as Refill)));
  const change = (part: Partial<Refill>): void =>
    setRefill(withoutStrangers({ interval: 'monthly', amount: 1000, ...refill, ...part }));
  return (
    <fieldset>
      <legend>Refill</legend>
      <input type="hidden" name={name} value={refill === null ? '' : JSON.stringify(refill)} />
      <Select
        label="When"
        value={refill?.interval ?? ''}
        options={INTERVALS}
        onChoose={(value) => (value === '' ? setRefill(null) : change({ interval: value as Refill['interval'] }))}
      />
      {refill !== null && (
        <>
          <NumberInput
            label={refill.mode === 'add' ? 'Adds credits' : 'Refill to'}
            required
            value={refill.amount}
            onValue={(amount) => change({ amount: amount ?? 0 })}
          />
          <Select
            label="How"
            value={refill.mode ?? 'restore'}
            options={[
              ['restore', 'raise the balance to this number'],
              ['add', 'add this number to the balance'],
            ]}
            onChoose={(mode) => change({ mode: mode as 'restore' | 'add' })}
          />
          {refill.mode === 'add' && (
            <NumberInput
              label="At most"
              value={refill.max}
              onValue={(max) => change({ max })}
              hint="Leave empty for no maximum."
            />
          )}
          {refill.interval === 'monthly' && (
            <NumberInput
              label="Day of the month"
              max={31}
              value={refill.refillDay ?? undefined}
              onValue={(refillDay) => change({ refillDay })}
              hint="Leave empty for the first. In a shorter month, its last day is used."
            />
          )}
          {refill.interval === 'weekly' && (
            <Select
              label="Day of the week"
              value={String(refill.refillWeekday ?? 1)}
              options={WEEKDAYS.map((day, i) => [String(i + 1), day])}
              onChoose={(day) => change({ refillWeekday: Number(day) })}
            />
          )}
          <Field label="Time zone" hint="For example Europe/Berlin. Leave empty for that of the service.">
            {(ids) => (
              <input
                {...ids}
                value={refill.timezone ?? ''}
                onInput={({ currentTarget: { value } }) => change({ timezone: value === '' ? undefined : value })}
              />
            )}
          </Field>
        </>
      )}
    </fieldset>
  );
}

/** A part that belongs to another interval or mode is left out: the service refuses it. */
function withoutStrangers(refill: Refill): Refill {
  const { interval, mode } = refill;
  return {
    ...refill,
    refillDay: interval === 'monthly' ? refill.refillDay : undefined,
    refillWeekday: interval === 'weekly' ? refill.refillWeekday : undefined,
    max: mode === 'add' ? refill.max : undefined,
  };
}

function NumberInput({
  label,
  value,
  onValue,
  hint,
  ...bounds
}: {
  readonly label: string;
  readonly value: number | undefined;
  readonly onValue: (value: number | undefined) => void;
  readonly hint?: string;
  readonly max?: number;
  readonly required?: boolean;
}) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <input
          {...ids}
          {...bounds}
          type="number"
          min={1}
          value={value ?? ''}
          onInput={({ currentTarget: { value: text } }) => onValue(text === '' ? undefined : Number(text))}
        />
      )}
    </Field>
  );
}
