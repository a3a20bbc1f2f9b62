import { useState } from 'preact/hooks';

import { EVENT_TYPE_NAMES } from '../../src/core/events.ts';
import type { EventType, Webhook } from '../../sdk/src/generated/api.ts';
import { keystile } from '../client.ts';
import { type EditedField, EditForm } from '../ui/edit/editForm.tsx';
import { flagField, linesOf, lineField } from '../ui/edit/fields.tsx';
import { DialogButton, TextField } from '../ui/form.tsx';

const EVENTS = 'events';

/** Which events a webhook gets: all, or the chosen ones. The form gets their names on lines; none for all. */
export function EventsInput({ text = '' }: { readonly text?: string }) {
  const [chosen, setChosen] = useState<readonly string[]>(linesOf(text));
  const choose = (type: string, isOn: boolean): void =>
    setChosen(EVENT_TYPE_NAMES.filter((each) => (each === type ? isOn : chosen.includes(each))));
  return (
    <fieldset>
      <legend>Events</legend>
      <p class="hint">None chosen: all events, also those of later versions.</p>
      <input type="hidden" name={EVENTS} value={chosen.join('\n')} />
      <div class="choices">
        {EVENT_TYPE_NAMES.map((type) => (
          <label key={type}>
            <input
              type="checkbox"
              checked={chosen.includes(type)}
              onChange={(event) => choose(type, event.currentTarget.checked)}
            />{' '}
            {type}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** null: all of them. */
export function eventsOf(text: string): readonly EventType[] | null {
  const types = linesOf(text) as EventType[];
  return types.length === 0 ? null : types;
}

const FIELDS: readonly EditedField<Webhook>[] = [
  {
    ...lineField<Webhook>({ name: 'url', label: 'Address' }, ({ url }) => url),
    input: (text) => <TextField label="Address" name="url" type="url" required defaultValue={text} />,
  },
  {
    name: EVENTS,
    label: 'Events',
    text: ({ events = [] }) => EVENT_TYPE_NAMES.filter((type) => events.includes(type)).join('\n'),
    input: (text) => <EventsInput text={text} />,
    toPatch: (text) => ({ events: eventsOf(text) }),
  },
  flagField(
    { name: 'enabled', label: 'Events are', words: ['sent', 'kept, and sent when it is enabled again'] },
    ({ enabled }) => enabled,
  ),
];

export function EditWebhook({ of: webhook, reload }: { readonly of: Webhook; readonly reload: () => void }) {
  const { id: webhookId } = webhook;
  return (
    <DialogButton label="Edit" title="Edit the webhook">
      {(close) => (
        <EditForm<Webhook>
          record={webhook}
          read={() => keystile.webhooks.get({ webhookId })}
          fields={FIELDS}
          onSend={async (patch) => {
            await keystile.webhooks.update({ webhookId, ...patch });
            close();
            reload();
          }}
        />
      )}
    </DialogButton>
  );
}
