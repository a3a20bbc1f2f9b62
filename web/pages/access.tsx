import { useState } from 'preact/hooks';

import { keystile, may, session } from '../client.ts';
import { DeleteButton, DialogButton, Form, textOf, TextField } from '../ui/form.tsx';
import { Ago, Badge, Copyable, Showing } from '../ui/show.tsx';
import { Table } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { allOf } from '../allOf.ts';

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
          <Table
            caption="Table of root keys"
            rows={all}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Name', cell: ({ id, name }) => <bdi>{name ?? id}</bdi> },
              { title: 'Starts with', cell: ({ start }) => <code>{start}…</code> },
              { title: 'Rights', cell: ({ permissions }) => permissions.join(' ') },
              {
                title: 'State',
                cell: ({ revokedAt }) =>
                  revokedAt === undefined ? <Badge kind="good">Active</Badge> : <Badge kind="plain">Revoked</Badge>,
              },
              { title: 'Created', cell: ({ createdAt }) => <Ago at={createdAt} /> },
              {
                title: 'Change',
                cell: ({ id, start, revokedAt }) =>
                  revokedAt === undefined &&
                  may('root.revoke_root_key', id) && (
                    <DeleteButton
                      label="Revoke"
                      name={start}
                      explains="The root key and all its sessions end at once, for good."
                      onDelete={async () => {
                        await keystile.rootKeys.revoke({ rootKeyId: id });
                        rootKeys.reload();
                      }}
                    />
                  ),
              },
            ]}
          />
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
            {all.map(({ id, rootKeyId, browser, origin, createdAt, lastUsedAt }) => (
              <li key={id}>
                <h2>
                  <bdi>{browser ?? 'A browser'}</bdi>{' '}
                  {id === session.value?.sessionId && <Badge kind="good">This one</Badge>}
                </h2>
                <p>
                  From {origin ?? 'an unknown address'}, signed in <Ago at={createdAt} />, last used{' '}
                  <Ago at={lastUsedAt} />
                </p>
                {id !== session.value?.sessionId && may('root.revoke_root_key', rootKeyId) && (
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
