import { Fragment } from 'preact';

import { Form } from '../form.tsx';
import { type EditedField, typed } from './editForm.tsx';

/** Makes a record with the fields that a form of it changes. Fields that stay as those of `empty` are not sent. */
export function CreateForm<Of>({
  empty,
  fields,
  onSend,
}: {
  readonly empty: Of;
  readonly fields: readonly EditedField<Of>[];
  readonly onSend: (given: object) => Promise<void>;
}) {
  return (
    <Form
      button="Create"
      onSend={(data) => {
        const given = fields.filter(({ name, text }) => typed(data, name) !== text(empty));
        return onSend(Object.assign({}, ...given.map(({ name, toPatch }) => toPatch(typed(data, name)))) as object);
      }}
    >
      {fields.map(({ name, text, input }) => (
        <Fragment key={name}>{input(text(empty))}</Fragment>
      ))}
    </Form>
  );
}
