import type { ComponentChildren, RefObject } from 'preact';
import { Fragment } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Form } from '../form.tsx';

/** A field of a record that a form changes. Its value in the form is a text. */
export interface EditedField<Of> {
  readonly name: string;
  readonly label: string;
  /** What the form shows of the record. */
  readonly text: (record: Of) => string;
  /** The text in words, where it is none for people. */
  readonly inWords?: (text: string, record: Of) => string;
  /** The input with this name, and this text at first. */
  readonly input: (text: string) => ComponentChildren;
  /** What to send for a text that was changed. Throws an error with words for the person who typed it. */
  readonly toPatch: (text: string) => object;
}

interface Editing<Of> {
  /** The record as the form shows it, which is what the record is compared with before it is changed. */
  readonly shown: Of;
  /** The texts that the inputs began with. An input whose entry changes begins anew. */
  readonly begun: Readonly<Record<string, string>>;
  /** What somebody else has changed since the form was opened, or since it last said so. */
  readonly others: readonly EditedField<Of>[];
}

/**
 * Changes a record: only fields that the person has changed are sent. Just before, the record is read again. If somebody else has changed a
 * field of the form meanwhile, the form shows the new value and asks again, instead of overwriting it.
 */
export function EditForm<Of>({
  record,
  read,
  fields,
  onSend,
  button = 'Save',
  question = null,
}: {
  readonly button?: string;
  readonly record: Of;
  readonly read: () => Promise<Of>;
  readonly fields: readonly EditedField<Of>[];
  /** Sends the changes; {} when there are none. `present` is the record as it was just read. */
  readonly onSend: (patch: object, present: Of) => Promise<void>;
  /** What is to be answered by sending the form again. */
  readonly question?: ComponentChildren;
}) {
  const [{ shown, begun, others }, setEditing] = useState<Editing<Of>>(() => ({
    shown: record,
    begun: Object.fromEntries(fields.map(({ name, text }) => [name, text(record)])),
    others: [],
  }));
  const place = useRef<HTMLDivElement>(null);
  const untouched = useUntouched(place, begun);
  const send = async (data: FormData): Promise<void> => {
    const changed = fields.filter(({ name }) => typed(data, name) !== untouched(name));
    const patch = Object.assign({}, ...changed.map(({ name, toPatch }) => toPatch(typed(data, name)))) as object;
    const present = await read();
    const different = fields.filter(({ text }) => text(present) !== text(shown));
    if (different.length === 0) {
      await onSend(patch, present);
      return;
    }
    // What the person has typed stays; the other inputs show what is there now.
    const renewed = different.filter((field) => !changed.includes(field));
    setEditing({
      shown: present,
      begun: { ...begun, ...Object.fromEntries(renewed.map(({ name, text }) => [name, text(present)])) },
      others: different,
    });
  };
  return (
    <Form button={others.length === 0 ? button : `${button} anyway`} onSend={send}>
      <div ref={place}>
        {fields.map(({ name, input }) => (
          <Fragment key={`${name} ${begun[name]}`}>{input(begun[name] ?? '')}</Fragment>
        ))}
      </div>
      {question}
      {others.length > 0 && <ChangedByOthers fields={others} record={shown} />}
    </Form>
  );
}

/**
 * The value of an input that nobody has touched. It can differ from the text that the input was given: one line of text has no line breaks,
 * and a date has at most four digits for its year. Compared with the text, such a field would count as changed.
 */
function useUntouched(
  place: RefObject<HTMLDivElement | null>,
  begun: Readonly<Record<string, string>>,
): (name: string) => string {
  const known = useRef(new Map<string, { readonly text: string; readonly value: string }>());
  // Runs before the form is painted. Later, a quick choice could already be in the input, and would count as untouched.
  useLayoutEffect(() => {
    const form = place.current?.closest('form');
    if (form == null) return;
    const data = new FormData(form);
    for (const [name, text] of Object.entries(begun))
      if (known.current.get(name)?.text !== text) known.current.set(name, { text, value: typed(data, name) });
  }, [begun]);
  return (name) => known.current.get(name)?.value ?? '';
}

function ChangedByOthers<Of>({ fields, record }: { readonly fields: readonly EditedField<Of>[]; readonly record: Of }) {
  const notice = useRef<HTMLDivElement>(null);
  useEffect(() => notice.current?.scrollIntoView({ block: 'nearest' }), [fields]);
  return (
    <div ref={notice} class="notice wrong" role="alert">
      <p>Someone else has changed this in the meantime. Nothing was saved yet. The current values:</p>
      <dl class="facts">
        {fields.map(({ name, label, text, inWords = same }) => (
          <div key={name}>
            <dt>{label}</dt>
            <dd class="clipped">
              <bdi>{inWords(text(record), record) || 'nothing'}</bdi>
            </dd>
          </div>
        ))}
      </dl>
      <p>Fields that you have changed yourself still have your values. Save to replace theirs, or close the form.</p>
    </div>
  );
}

const same = (text: string): string => text;

/** The text of an input; line breaks are as scripts write them. */
export function typed(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : '';
}
