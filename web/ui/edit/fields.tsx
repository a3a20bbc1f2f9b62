import { Field, SelectField, TextField } from '../form.tsx';
import type { EditedField } from './editForm.tsx';

/** The fields that forms of several records have. */

interface Named {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
}

/** One line of text, without spaces around it. An empty one removes the value, unless it is required. */
export function lineField<Of>(
  { name, label, hint, required = false }: Named & { readonly required?: boolean },
  value: (record: Of) => string | undefined,
): EditedField<Of> {
  return {
    name,
    label,
    text: (record) => value(record) ?? '',
    input: (text) => <TextField label={label} name={name} defaultValue={text} hint={hint} required={required} />,
    toPatch: (text) => ({ [name]: text.trim() === '' ? null : text.trim() }),
  };
}

/** A number; an empty field removes it. */
export function numberField<Of>(
  { name, label, hint, min = 0, required = false }: Named & { readonly min?: number; readonly required?: boolean },
  value: (record: Of) => number | undefined,
): EditedField<Of> {
  return {
    name,
    label,
    text: (record) => String(value(record) ?? ''),
    input: (text) => (
      <TextField
        label={label}
        name={name}
        type="number"
        min={min}
        defaultValue={text}
        hint={hint}
        required={required}
      />
    ),
    toPatch: (text) => ({ [name]: text === '' ? null : Number(text) }),
  };
}

type Options = readonly (readonly [value: string, words: string])[];

/** One of some values, each with its words. */
export function choiceField<Of>(
  { name, label, hint, options }: Named & { readonly options: Options },
  value: (record: Of) => string,
): EditedField<Of> {
  return {
    name,
    label,
    text: value,
    inWords: (text) => options.find(([each]) => each === text)?.[1] ?? text,
    input: (text) => (
      <SelectField label={label} name={name} options={withPresent(options, text)} hint={hint} defaultValue={text} />
    ),
    toPatch: (text) => ({ [name]: text }),
  };
}

/** The present value is always among them: otherwise the form would change it unasked. */
function withPresent(options: Options, text: string): Options {
  return options.some(([value]) => value === text) ? options : [...options, [text, text]];
}

/** Two words, one for true and one for false. */
export function flagField<Of>(
  { words, ...named }: Named & { readonly words: readonly [on: string, off: string] },
  value: (record: Of) => boolean,
): EditedField<Of> {
  const options = [
    ['true', words[0]],
    ['false', words[1]],
  ] as const;
  return {
    ...choiceField<Of>({ ...named, options }, (record) => String(value(record))),
    toPatch: (text) => ({ [named.name]: text === 'true' }),
  };
}

/** When something ends, by the reader's clock, to the minute. */
export function timeField<Of>(
  { name, label, hint }: Named,
  value: (record: Of) => number | undefined,
): EditedField<Of> {
  return {
    name,
    label,
    text: (record) => localText(value(record)),
    input: (text) => <TextField label={label} name={name} type="datetime-local" defaultValue={text} hint={hint} />,
    toPatch: (text) => ({ [name]: text === '' ? null : new Date(text).getTime() }),
  };
}

function localText(atMs: number | undefined): string {
  if (atMs === undefined) return '';
  const at = new Date(atMs);
  return new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Names, one per line. */
export function linesField<Of>(
  { name, label, hint }: Named,
  value: (record: Of) => readonly string[],
  toItem: (line: string) => unknown,
): EditedField<Of> {
  return {
    name,
    label,
    text: (record) => value(record).join('\n'),
    input: (text) => <LongField label={label} name={name} text={text} hint={hint ?? 'One per line.'} />,
    toPatch: (text) => ({ [name]: linesOf(text).map(toItem) }),
  };
}

export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Metadata as JSON. `use` says where it is seen: verdicts repeat that of keys and customers. */
export function metaField<Of extends { readonly meta: object }>(
  use = 'Included in the answers of verifications.',
): EditedField<Of> {
  const name = 'meta';
  return {
    name,
    label: 'Metadata',
    text: ({ meta }) => (Object.keys(meta).length === 0 ? '' : JSON.stringify(meta, null, 2)),
    input: (text) => <MetaField text={text} use={use} />,
    toPatch: (text) => ({ [name]: metaOf(text) ?? null }),
  };
}

function MetaField({ text, use }: { readonly text: string; readonly use: string }) {
  return (
    <LongField
      label="Metadata"
      name="meta"
      text={text}
      hint={`A JSON object, for example {"team": "search"}. ${use} Leave empty for none.`}
    />
  );
}

/** The object that was typed; undefined for nothing. Throws an error that says what is wrong with it. */
export function metaOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return undefined;
  let meta: unknown;
  try {
    meta = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The metadata is not valid JSON: ${why}`, { cause: error });
  }
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta))
    throw new Error('The metadata must be a JSON object, in braces, for example {"team": "search"}.');
  return meta as Readonly<Record<string, unknown>>;
}

function LongField({
  label,
  name,
  text,
  hint,
}: {
  readonly label: string;
  readonly name: string;
  readonly text: string;
  readonly hint: string;
}) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <textarea
          {...ids}
          name={name}
          rows={Math.min(12, text.split('\n').length + 2)}
          dir="auto"
          defaultValue={text}
        />
      )}
    </Field>
  );
}
