import { useState } from 'preact/hooks';

import { keystile, may } from '../client.ts';
import { DeleteButton, DialogButton, Form, textOf, TextField } from '../ui/form.tsx';
import { Badge, Copyable, Empty, Showing } from '../ui/show.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
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
                  setSecret((await keystile.webhooks.create({ url: textOf(data, 'url') ?? '' })).secret);
                  close();
                  webhooks.reload();
                }}
              >
                <TextField label="Address" name="url" type="url" required placeholder="https://example.com/hooks" />
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
              {all.map(({ id, url, enabled, pausedBecause }) => (
                <li key={id}>
                  <h2>
                    <bdi>{url}</bdi>
                  </h2>
                  <p>
                    <Badge kind={enabled && pausedBecause === undefined ? 'good' : 'bad'}>
                      {pausedBecause !== undefined ? 'Paused' : enabled ? 'Active' : 'Disabled'}
                    </Badge>{' '}
                    {pausedBecause}
                  </p>
                  <div class="actions">
                    {may('webhook.update_webhook', id) && (
                      <Form
                        button="Send a test event"
                        onSend={async () => void (await keystile.webhooks.sendTest({ webhookId: id }))}
                      />
                    )}
                    {may('webhook.delete_webhook', id) && (
                      <DeleteButton
                        label="Delete"
                        name={id}
                        explains="No further event is sent to this address."
                        onDelete={async () => {
                          await keystile.webhooks.delete({ webhookId: id });
                          webhooks.reload();
                        }}
                      />
                    )}
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Showing>
    </>
  );
}
