import { useState } from 'preact/hooks';

import type { Webhook, WebhooksCreateWebhookRequest } from '../../sdk/src/generated/api.ts';

import { allOf } from '../allOf.ts';
import { keystile, may, mayReadEventsOf } from '../client.ts';
import { CreateForm } from '../ui/edit/createForm.tsx';
import { DeleteButton, DialogButton, Form, numberOf, TextField } from '../ui/form.tsx';
import { Badge, Copyable, Empty, Showing } from '../ui/show.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { Deliveries, isActive } from './deliveries.tsx';
import { EditWebhook, NEW_WEBHOOK, WHERE_AND_WHAT } from './editWebhook.tsx';

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
              <CreateForm
                empty={NEW_WEBHOOK}
                fields={WHERE_AND_WHAT}
                onSend={async (given) => {
                  setSecret((await keystile.webhooks.create(given as WebhooksCreateWebhookRequest)).secret);
                  close();
                  webhooks.reload();
                }}
              />
            )}
          </DialogButton>
        )}
      </div>
      {secret !== null && (
        <p class="notice" role="status">
          Copy the signing secret now. It is shown only once: <Copyable label="the signing secret" text={secret} />
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
                  <OneWebhook of={webhook} reload={webhooks.reload} onSecret={setSecret} />
                </li>
              ))}
            </ul>
          )
        }
      </Showing>
    </>
  );
}

interface Shown {
  readonly of: Webhook;
  readonly reload: () => void;
  readonly onSecret: (secret: string) => void;
}

function OneWebhook(shown: Shown) {
  const { url, events, apis } = shown.of;
  const [awaited, setAwaited] = useState<string | null>(null);
  return (
    <>
      <h2>
        <bdi>{url}</bdi>
      </h2>
      <WebhookState of={shown.of} />
      <p>
        {events === undefined ? 'Sends all events' : `Sends ${events.join(', ')}`}
        {apis === undefined ? '.' : ` of ${apis.join(', ')}.`}
      </p>
      <Deliveries of={shown.of} awaited={awaited} />
      <WebhookActions {...shown} onSent={setAwaited} />
    </>
  );
}

function WebhookState({ of: webhook }: { readonly of: Webhook }) {
  const { enabled, pausedBecause } = webhook;
  return (
    <p>
      <Badge kind={isActive(webhook) ? 'good' : 'bad'}>
        {pausedBecause !== undefined ? 'Paused' : enabled ? 'Active' : 'Disabled'}
      </Badge>{' '}
      {pausedBecause}
    </p>
  );
}

function RotateSecret({ of: { id: webhookId }, reload, onSecret }: Shown) {
  return (
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
            label="Hours for which the old secret also signs"
            name="hours"
            type="number"
            min={0}
            defaultValue="24"
          />
        </Form>
      )}
    </DialogButton>
  );
}

function WebhookActions({
  of: webhook,
  reload,
  onSecret,
  onSent,
}: Shown & { readonly onSent: (eventId: string) => void }) {
  const { id: webhookId } = webhook;
  return (
    <div class="actions">
      {may('webhook.update_webhook', webhookId) && (
        <>
          <EditWebhook of={webhook} reload={reload} />
          {mayReadEventsOf(webhook.apis) && <RotateSecret of={webhook} reload={reload} onSecret={onSecret} />}
          <Form
            button="Send a test event"
            done="Queued. Its delivery shows the result."
            onSend={async () => {
              const { eventId } = await keystile.webhooks.sendTest({ webhookId });
              onSent(eventId);
            }}
          />
        </>
      )}
      {may('webhook.delete_webhook', webhookId) && (
        <DeleteButton
          label="Delete"
          name={webhookId}
          explains="No more events are sent to this address."
          onDelete={async () => {
            await keystile.webhooks.delete({ webhookId });
            reload();
          }}
        />
      )}
    </div>
  );
}
