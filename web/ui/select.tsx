import { Field } from './form.tsx';

/** A choice that takes effect at once. */
export function Select({
  label,
  value,
  options,
  hint,
  onChoose,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly hint?: string | undefined;
  readonly onChoose: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <select {...ids} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
          {options.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
