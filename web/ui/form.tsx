import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { ask } from '../client.ts';
import { Failure } from './show.tsx';

/** A labelled input. `hint` explains what it does. */
export function Field({
  label,
  hint,
  children,
}: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly children: (ids: { id: string; 'aria-describedby': string | undefined }) => ComponentChildren;
}) {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': hintId })}
      {hintId !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  ...input
}: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly name: string;
  readonly type?: 'text' | 'number' | 'password' | 'url' | 'datetime-local' | 'search';
  readonly required?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly placeholder?: string;
  readonly defaultValue?: string;
  readonly autoComplete?: string;
}) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => <input {...({ type: 'text', ...ids, ...input } as InputHTMLAttributes)} />}
    </Field>
  );
}

/** A choice of some values, each with its words. */
export function SelectField({
  label,
  name,
  options,
  hint,
  defaultValue,
}: {
  readonly label: string;
  readonly name: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly hint?: string | undefined;
  readonly defaultValue?: string;
}) {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <select {...ids} name={name} {...(defaultValue === undefined ? {} : { defaultValue })}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A form that sends itself once at a time and says what went wrong. What was typed stays. In a dialog, the first field has the focus. */
export function Form({
  onSend,
  button,
  done,
  children,
  kind = 'plain',
}: {
  /** What it says afterwards, where nothing else on the page shows what it did. */
  readonly done?: string;
  readonly onSend: (data: FormData) => Promise<void>;
  readonly button: string;
  readonly children?: ComponentChildren;
  readonly kind?: 'plain' | 'dangerous';
}) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [isDone, setDone] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  // Before it is painted: later, somebody may be typing in another field already.
  useLayoutEffect(() => beginInDialog(form.current), []);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setError(null);
    setDone(false);
    try {
      await ask(() => onSend(new FormData(event.target as HTMLFormElement)));
      setDone(true);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={form} onSubmit={(event) => void send(event)}>
      {children}
      {error !== null && <Failure error={error} />}
      <div class="actions">
        <button type="submit" class={kind === 'dangerous' ? 'dangerous' : 'primary'} disabled={isBusy}>
          {isBusy ? 'Sending …' : button}
        </button>
        {done !== undefined && <span role="status">{isDone && done}</span>}
      </div>
    </form>
  );
}

/** A dialog opens with the focus on its close button, and what is in it can take a while to load. */
function beginInDialog(form: HTMLFormElement | null): void {
  if (form?.closest('dialog') == null) return;
  form.querySelector<HTMLElement>('input:not([type="hidden"]), select, textarea')?.focus();
}

/** A button that opens a dialog. The dialog closes with Escape, or when its form is done. */
export function DialogButton({
  label,
  title,
  kind = 'plain',
  children,
}: {
  readonly label: string;
  readonly title: string;
  readonly kind?: 'plain' | 'primary' | 'dangerous';
  readonly children: (close: () => void) => ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const titleId = useId();
  const open = (): void => {
    setOpen(true);
    dialog.current?.showModal();
  };
  const close = (): void => dialog.current?.close();
  return (
    <>
      <button type="button" class={kind} onClick={open}>
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={titleId} onClose={() => setOpen(false)}>
        <div class="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <button type="button" class="small" onClick={close} aria-label="Close">
            ✕
          </button>
        </div>
        {isOpen && children(close)}
      </dialog>
    </>
  );
}

/** Deletes only after the name was typed. */
export function DeleteButton({
  label,
  name,
  explains,
  onDelete,
  children,
}: {
  readonly label: string;
  readonly name: string;
  readonly explains: string;
  readonly onDelete: (data: FormData) => Promise<void>;
  /** What else there is to choose. */
  readonly children?: ComponentChildren;
}) {
  return (
    <DialogButton label={label} title={`${label}?`} kind="dangerous">
      {(close) => (
        <Form
          button={label}
          kind="dangerous"
          onSend={async (data) => {
            if (data.get('typed') !== name) throw new Error(`Type ${name} to confirm.`);
            await onDelete(data);
            close();
          }}
        >
          <p>{explains}</p>
          {children}
          <TextField label={`Type ${name} to confirm`} name="typed" required autoComplete="off" />
        </Form>
      )}
    </DialogButton>
  );
}

/** A number of a form; undefined where the field is empty. */
export function numberOf(data: FormData, name: string): number | undefined {
  const text = textOf(data, name);
  return text === undefined ? undefined : Number(text);
}

export function textOf(data: FormData, name: string): string | undefined {
  const value = data.get(name);
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
}
