import { useLayoutEffect, useRef } from 'preact/hooks';

import { Field } from './form.tsx';

/** A text to look for, which takes effect with Enter or when the field is left. */
export function SearchField({
  label,
  value,
  onSearch,
  ...more
}: {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
  readonly placeholder?: string;
  readonly hint?: string;
}) {
  const { hint, placeholder = '' } = more;
  const input = useRef<HTMLInputElement>(null);
  // The back button changes it too. Before it is painted: later, somebody may have typed already.
  useLayoutEffect(() => {
    if (input.current !== null) input.current.value = value;
  }, [value]);
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <input
          {...ids}
          ref={input}
          type="search"
          placeholder={placeholder}
          defaultValue={value}
          onChange={(event) => onSearch(event.currentTarget.value.trim())}
        />
      )}
    </Field>
  );
}
