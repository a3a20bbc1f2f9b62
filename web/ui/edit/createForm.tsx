import type { ComponentChildren } from 'preact';
import { Fragment } from 'preact';
import { useRef } from 'preact/hooks';

import { Form } from '../form.tsx';
import { type EditedField, typed } from './editForm.tsx';

/** Makes a record with the fields that a form of it changes. Fields that stay as those of `empty`, or have nothing in them, are not sent. */
export function CreateForm<Of>({
  empty,
  fields,
  onSend,
  onInput,
  button = 'Create',
  question = null,
}: {
  readonly empty: Of;
  readonly fields: readonly EditedField<Of>[];
  readonly onSend: (given: object) => Promise<void>;
  /** Gets what would be sent, after each change. Not called while something that was typed cannot be sent. */
  readonly onInput?: (given: object) => void;
  readonly button?: string;
  /** What is to be answered by sending the form again. */
  readonly question?: ComponentChildren;
}) {
  const place = useRef<HTMLDivElement>(null);
  const tell = (): void => {
    // Some inputs write their value to a hidden one, when they are drawn.
    setTimeout(() => {
      const form = place.current?.closest('form');
      const given = form == null ? null : sendable(new FormData(form), empty, fields);
      if (given !== null) onInput?.(given);
    });
  };
  return (
    <Form button={button} onSend={(data) => onSend(givenOf(data, empty, fields))}>
      <div ref={place} onInput={tell} onChange={tell} onClick={tell}>
        {fields.map(({ name, text, input }) => (
          <Fragment key={name}>{input(text(empty))}</Fragment>
        ))}
      </div>
      {question}
    </Form>
  );
}

function givenOf<Of>(data: FormData, empty: Of, fields: readonly EditedField<Of>[]): object {
  const given = fields.filter(({ name, text }) => typed(data, name) !== text(empty));
  const patches = given.flatMap(({ name, toPatch }) => Object.entries(toPatch(typed(data, name))));
  return Object.fromEntries(patches.filter(([, value]) => !isNothing(value)));
}

function sendable<Of>(data: FormData, empty: Of, fields: readonly EditedField<Of>[]): object | null {
  try {
    return givenOf(data, empty, fields);
  } catch {
    return null;
  }
}

const isNothing = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);
