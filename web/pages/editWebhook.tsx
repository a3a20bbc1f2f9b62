import { useState } from 'preact/hooks';

import { EVENT_TYPE_NAMES } from '../../src/core/events.ts';
import type { EventType, Webhook } from '../../sdk/src/generated/api.ts';
import { keystile } from '../client.ts';
import { CheckList } from '../ui/edit/checkList.tsx';
import { type EditedField, EditForm } from '../ui/edit/editForm.tsx';
import { flagField, linesOf, lineField } from '../ui/edit/fields.tsx';
import { DialogButton, TextField } from '../ui/form.tsx';
import { Showing } from '../ui/show.tsx';
import { OFFERED, useApis } from './useApis.ts';

const EVENTS = 'events';
const APIS = 'apis';

/** Which events a webhook gets: all, or the chosen ones. The form gets their names on lines; none for all. */
function EventsInput({ text }: { readonly text: string }) {
  const [chosen, setChosen] = useState<readonly string[]>(linesOf(text));
  return (
    <fieldset>
      <legend>Events</legend>
      <p class="hint">If none is chosen, all events are sent, including those added in later versions.</p>
      <input type="hidden" name={EVENTS} value={chosen.join('\n')} />
      <CheckList options={EVENT_TYPE_NAMES} chosen={chosen} onChoose={setChosen} />
    </fieldset>
  );
}

/** Of which apis a webhook gets events: of the chosen ones, or of everything. The form gets their ids on lines. */
function ApisInput({ text }: { readonly text: string }) {
  const bound = linesOf(text);
  const [chosen, setChosen] = useState<readonly string[]>(bound);
  const apis = useApis('');
  return (
    <fieldset>
      <legend>Apis</legend>
      <p class="hint">If none is chosen, events of all apis, customers and plans are sent.</p>
      <input type="hidden" name={APIS} value={chosen.join('\n')} />
      <Showing loaded={apis}>
        {(all) => (
          <>
            <CheckList
              options={[...new Set([...all.map(({ id }) => id), ...bound])]}
              wordsOf={(id) => all.find((api) => api.id === id)?.name ?? id}
              chosen={chosen}
              onChoose={setChosen}
            />
            {all.length >= OFFERED && <p class="hint">Only the first {OFFERED} apis are listed.</p>}
          </>
        )}
      </Showing>
    </fieldset>
  );
}

/** null: all of them. */
function eventsOf(text: string): readonly EventType[] | null {
  const types = linesOf(text) as EventType[];
  return types.length === 0 ? null : types;
}

export const NEW_WEBHOOK = { url: '' };

/** What a webhook has from the beginning. */
export const WHERE_AND_WHAT: readonly EditedField<Pick<Webhook, 'url' | 'events' | 'apis'>>[] = [
  {
    ...lineField<Pick<Webhook, 'url'>>({ name: 'url', label: 'Address' }, ({ url }) => url),
    input: (text) => (
      <TextField
        label="Address"
        name="url"
        type="url"
        required
        placeholder="https://example.com/hooks"
        defaultValue={text}
      />
    ),
  },
  {
    name: EVENTS,
    label: 'Events',
    text: ({ events = [] }) => EVENT_TYPE_NAMES.filter((type) => events.includes(type)).join('\n'),
    input: (text) => <EventsInput text={text} />,
    toPatch: (text) => ({ events: eventsOf(text) }),
  },
  {
    name: APIS,
    label: 'Apis',
    text: ({ apis = [] }) => apis.join('\n'),
    input: (text) => <ApisInput text={text} />,
    toPatch: (text) => ({ apis: text === '' ? null : linesOf(text) }),
  },
];

const FIELDS: readonly EditedField<Webhook>[] = [
  ...WHERE_AND_WHAT,
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
