import { useState } from 'preact/hooks';

import type { AuditEntry } from '../../sdk/src/generated/api.ts';
import { keystile, may, session } from '../client.ts';
import { listEntries } from '../paged.ts';
import { DeleteButton, DialogButton, Form, textOf, TextField } from '../ui/form.tsx';
import { Ago, Badge, Copyable, Empty, Showing, Time } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';

const PAGE_SIZE = 50;

async function allOf<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of list) all.push(each);
  return all;
}

export function Audit() {
  return (
    <>
      <h1>Audit log</h1>
      <PagedTable<AuditEntry>
        caption="Changes"
        on={[]}
        keyOf={({ id }) => id}
        empty="Nothing has been changed yet."
        load={async (cursor) => {
          const { entries, ...page } = await listEntries({
            limit: PAGE_SIZE,
            ...(cursor === undefined ? {} : { cursor }),
          });
          return { rows: entries, ...page };
        }}
        columns={[
          { title: 'When', cell: ({ time }) => <Time at={time} /> },
          { title: 'Who', cell: ({ actor, via }) => `${actor}${via === undefined ? '' : ` (${via})`}` },
          { title: 'What', cell: ({ action }) => action },
          { title: 'Record', cell: ({ target }) => <code>{target}</code> },
          { title: 'Changes', cell: (entry) => <Difference of={entry} /> },
        ]}
      />
    </>
  );
}

/** Each field before and after. */
function Difference({ of: { before = {}, after = {} } }: { readonly of: AuditEntry }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (names.length === 0) return null;
  return (
    <details>
      <summary>{names.slice(0, 3).join(', ') + (names.length > 3 ? ' …' : '')}</summary>
      <dl class="difference">
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            {name in before && (
              <dd class="removed">
                <span class="hidden">before: </span>
                {JSON.stringify((before as Record<string, unknown>)[name])}
              </dd>
            )}
            {name in after && (
              <dd class="added">
                <span class="hidden">after: </span>
                {JSON.stringify((after as Record<string, unknown>)[name])}
              </dd>
            )}
          </div>
        ))}
      </dl>
    </details>
  );
}

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
                    {may('webhook.update_webhook') && (
                      <Form
                        button="Send a test event"
                        onSend={async () => void (await keystile.webhooks.sendTest({ webhookId: id }))}
                      />
                    )}
                    {may('webhook.delete_webhook') && (
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

export function Access() {
  return (
    <>
      {may('root.read_root_key') && <RootKeys />}
      <Sessions />
    </>
  );
}

function RootKeys() {
  const rootKeys = useLoaded(() => allOf(keystile.rootKeys.list({})), []);
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <section aria-labelledby="root-keys">
      <div class="row">
        <h1 id="root-keys">Root keys</h1>
        {may('root.create_root_key') && (
          <DialogButton label="Create a root key" title="Create a root key" kind="primary">
            {(close) => (
              <Form
                button="Create"
                onSend={async (data) => {
                  const permissions = (textOf(data, 'permissions') ?? '').split(/[\s,]+/).filter((each) => each !== '');
                  setSecret((await keystile.rootKeys.create({ name: textOf(data, 'name') ?? '', permissions })).key);
                  close();
                  rootKeys.reload();
                }}
              >
                <TextField label="Name" name="name" required />
                <TextField
                  label="Rights"
                  name="permissions"
                  required
                  placeholder="api.*.verify_key"
                  hint="Separated by spaces or commas. * allows everything."
                />
              </Form>
            )}
          </DialogButton>
        )}
      </div>
      {secret !== null && (
        <p class="notice" role="status">
          The root key, shown this once: <Copyable label="the root key" text={secret} />
        </p>
      )}
      <Showing loaded={rootKeys}>
        {(all) => (
          <div class="scrolls" role="region" aria-label="Table of root keys" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  {['Name', 'Starts with', 'Rights', 'State', 'Created', 'Change'].map((title) => (
                    <th key={title} scope="col">
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {all.map(({ id, name, start, permissions, createdAt, revokedAt }) => (
                  <tr key={id}>
                    <td>
                      <bdi>{name ?? id}</bdi>
                    </td>
                    <td>
                      <code>{start}…</code>
                    </td>
                    <td>{permissions.join(' ')}</td>
                    <td>
                      <Badge kind={revokedAt === undefined ? 'good' : 'plain'}>
                        {revokedAt === undefined ? 'Active' : 'Revoked'}
                      </Badge>
                    </td>
                    <td>
                      <Ago at={createdAt} />
                    </td>
                    <td>
                      {revokedAt === undefined && may('root.revoke_root_key') && (
                        <DeleteButton
                          label="Revoke"
                          name={start}
                          explains="The root key and all its sessions end at once, for good."
                          onDelete={async () => {
                            await keystile.rootKeys.revoke({ rootKeyId: id });
                            rootKeys.reload();
                          }}
                        />
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Showing>
    </section>
  );
}

function Sessions() {
  const sessions = useLoaded(() => allOf(keystile.sessions.list({})), []);
  return (
    <section aria-labelledby="sessions">
      <h1 id="sessions">Sessions</h1>
      <p>Browsers that are signed in. A session ends after 12 hours without use, and after 7 days.</p>
      <Showing loaded={sessions}>
        {(all) => (
          <ul class="cards">
            {all.map(({ id, browser, origin, createdAt, lastUsedAt }) => (
              <li key={id}>
                <h2>
                  <bdi>{browser ?? 'A browser'}</bdi>{' '}
                  {id === session.value?.sessionId && <Badge kind="good">This one</Badge>}
                </h2>
                <p>
                  From {origin ?? 'an unknown address'}, signed in <Ago at={createdAt} />, last used{' '}
                  <Ago at={lastUsedAt} />
                </p>
                {id !== session.value?.sessionId && (
                  <Form
                    button="End the session"
                    onSend={async () => {
                      await keystile.sessions.end({ sessionId: id });
                      sessions.reload();
                    }}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </Showing>
    </section>
  );
}
