import { useState } from 'preact/hooks';

import { DialogButton, Form, numberOf, SelectField, textOf, TextField } from '../ui/form.tsx';

/** Adding and taking is exact, also while credits are spent, so nobody's change is overwritten. null: no credits are counted. */
export type CreditsChange = { readonly add: number } | { readonly set: number | null };

const WAYS = [
  ['add', 'add credits'],
  ['take', 'take credits away'],
  ['set', 'set the credits to a number'],
  ['none', 'stop counting credits'],
] as const;

type Way = (typeof WAYS)[number][0];

interface Changing {
  /** Without credits, all that can be done is to give some. */
  readonly hasCredits: boolean;
  readonly onChange: (change: CreditsChange) => Promise<void>;
}

export function ChangeCredits(changing: Changing) {
  return (
    <DialogButton label="Change credits" title="Change the credits">
      {(close) => (
        <CreditsForm
          hasCredits={changing.hasCredits}
          onChange={async (change) => {
            await changing.onChange(change);
            close();
          }}
        />
      )}
    </DialogButton>
  );
}

function CreditsForm({ hasCredits, onChange }: Changing) {
  // As it was when the form was opened.
  const [ways] = useState(hasCredits ? WAYS : WAYS.filter(([each]) => each === 'set'));
  const [way, setWay] = useState<Way>(ways[0]?.[0] ?? 'set');
  return (
    <Form
      button="Change"
      onSend={(data) => onChange(toChange((textOf(data, 'way') ?? 'set') as Way, numberOf(data, 'credits') ?? 0))}
    >
      <div onChange={(event) => setWay((event.target as HTMLSelectElement).value as Way)}>
        <SelectField label="What to do" name="way" options={ways} />
      </div>
      {way === 'set' && <p class="hint">The credits become this number, whatever is spent in the meantime.</p>}
      {way !== 'none' && <TextField label="Credits" name="credits" type="number" min={0} required />}
    </Form>
  );
}

function toChange(way: Way, credits: number): CreditsChange {
  if (way === 'none') return { set: null };
  if (way === 'set') return { set: credits };
  return { add: way === 'add' ? credits : -credits };
}
