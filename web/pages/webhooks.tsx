import { useState } from 'preact/hooks';

import type { Delivery, Webhook } from '../../sdk/src/generated/api.ts';

import { keystile, may } from '../client.ts';
import { listDeliveries } from '../paged.ts';
import { DeleteButton, DialogButton, Form, numberOf, textOf, TextField } from '../ui/form.tsx';
import { Ago, Badge, Copyable, Empty, Showing } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { EditWebhook, EventsInput, eventsOf } from './editWebhook.tsx';
import { from } from './pageOf.ts';
import { allOf } from '../allOf.ts';

export function Webhooks() {
  const webhooks = useLoaded(() => allOf(keystile.webhooks.list({})), []);
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <>
      <div class="row">
        <h1>Webhooks</h1>
        {may('webhook.create_webhook') && (
          <DialogButton label="Create a webhook" title="Create a webhook" kind="primary">
            {(close) => (
              <Form
                button="Create"
                onSend={async (data) => {
                  const events = eventsOf(textOf(data, 'events') ?? '');
                  setSecret((await keystile.webhooks.create({ url: textOf(data, 'url') ?? '', events })).secret);
                  close();
                  webhooks.reload();
                }}
              >
                <TextField label="Address" name="url" type="url" required placeholder="https://example.com/hooks" />
                <EventsInput />
              </Form>
            )}
          </DialogButton>
        )}
      </div>
      {secret !== null && (
        <p class="notice" role="status">
          The signing secret, shown this once: <Copyable label="the signing secret" text={secret} />
        </p>
      )}
      <Showing loaded={webhooks}>
        {(all) =>
          all.length === 0 ? (
            <Empty>
              There are no webhooks yet. A webhook sends you an event when credits run low or a key expires.
            </Empty>
          ) : (
            <ul class="cards">
              {all.map((webhook) => (
                <li key={webhook.id}>
                  <h2>
                    <bdi>{webhook.url}</bdi>
                  </h2>
                  <WebhookState of={webhook} />
                  <p>{webhook.events === undefined ? 'Gets all events.' : `Gets ${webhook.events.join(', ')}.`}</p>
                  <Deliveries webhookId={webhook.id} />
                  <WebhookActions of={webhook} reload={webhooks.reload} onSecret={setSecret} />
                </li>
              ))}
            </ul>
          )
        }
      </Showing>
    </>
  );
}

function WebhookState({ of: { enabled, pausedBecause } }: { readonly of: Webhook }) {
  return (
    <p>
      <Badge kind={enabled && pausedBecause === undefined ? 'good' : 'bad'}>
        {pausedBecause !== undefined ? 'Paused' : enabled ? 'Active' : 'Disabled'}
      </Badge>{' '}
      {pausedBecause}
    </p>
  );
}

function WebhookActions({
  of: webhook,
  reload,
  onSecret,
}: {
  readonly of: Webhook;
  readonly reload: () => void;
  readonly onSecret: (secret: string) => void;
}) {
  const { id: webhookId } = webhook;
  return (
    <div class="actions">
      {may('webhook.update_webhook', webhookId) && (
        <>
          <EditWebhook of={webhook} reload={reload} />
          <DialogButton label="Rotate the secret" title="Give the webhook another signing secret">
            {(close) => (
              <Form
                button="Rotate"
                onSend={async (data) => {
                  const overlapMs = (numberOf(data, 'hours') ?? 0) * 3_600_000;
                  onSecret((await keystile.webhooks.rotateSecret({ webhookId, overlapMs })).secret);
                  close();
                  reload();
                }}
              >
                <TextField
                  label="The old secret also signs for hours"
                  name="hours"
                  type="number"
                  min={0}
                  defaultValue="24"
                />
              </Form>
            )}
          </DialogButton>
          <Form
            button="Send a test event"
            onSend={async () => void (await keystile.webhooks.sendTest({ webhookId }))}
          />
        </>
      )}
      {may('webhook.delete_webhook', webhookId) && (
        <DeleteButton
          label="Delete"
          name={webhookId}
          explains="No further event is sent to this address."
          onDelete={async () => {
            await keystile.webhooks.delete({ webhookId });
            reload();
          }}
        />
      )}
    </div>
  );
}

/** What was sent to it lately, and what waits. */
function Deliveries({ webhookId }: { readonly webhookId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Deliveries</summary>
      {isOpen && (
        <PagedTable<Delivery>
          caption={`Deliveries of ${webhookId}`}
          on={[webhookId]}
          keyOf={({ eventId }) => eventId}
          empty="Nothing was sent yet."
          load={async (cursor) => {
            const { deliveries, ...page } = await listDeliveries({ webhookId, ...from(cursor) });
            return { rows: deliveries, ...page };
          }}
          columns={[
            { title: 'Event', cell: ({ type }) => type },
            {
              title: 'State',
              cell: ({ state }) => (
                <Badge kind={state === 'delivered' ? 'good' : state === 'failed' ? 'bad' : 'plain'}>{state}</Badge>
              ),
            },
            { title: 'Tries', isNumber: true, cell: ({ attempts }) => attempts },
            { title: 'Answer', cell: ({ lastStatus, lastError }) => lastStatus ?? lastError ?? '' },
            { title: 'Queued', cell: ({ queuedAt }) => <Ago at={queuedAt} /> },
            {
              title: 'Change',
              cell: ({ eventId }) =>
                may('webhook.update_webhook', webhookId) && (
                  <Form
                    button="Send again"
                    onSend={async () => void (await keystile.webhooks.redeliver({ webhookId, eventId }))}
                  />
                ),
            },
          ]}
        />
      )}
    </details>
  );
}
