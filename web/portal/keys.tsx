import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';

import { nowMs } from '../clock.ts';
import { DeleteButton, DialogButton, Form, numberOf, SelectField, textOf, TextField } from '../ui/form.tsx';
import { Ago, Badge, Copyable, Count, Time } from '../ui/show.tsx';
import { type Column, PagedTable } from '../ui/table.tsx';
import { call, type PortalKey, refresh, type Visit } from './portalClient.ts';

const HOUR_MS = 3_600_000;
const OVERLAPS = [
  ['0', 'stops at once'],
  [String(HOUR_MS), 'works for another hour'],
  [String(24 * HOUR_MS), 'works for another day'],
] as const;

/** Secrets that were made on this page and not put away yet. Nothing but the customer removes one. */
const newSecrets = signal<readonly string[]>([]);

export function NewSecrets() {
  return (
    <>
      {newSecrets.value.map((secret) => (
        <div class="notice" role="status" key={secret}>
          <p>Your new key. Copy it now and keep it safe: it is shown only once.</p>
          <Copyable text={secret} label="the key" />{' '}
          <button
            type="button"
            class="small"
            onClick={() => (newSecrets.value = newSecrets.value.filter((each) => each !== secret))}
          >
            I have it
          </button>
        </div>
      ))}
    </>
  );
}

/** The customer's keys, and what it may do with them. */
export function Keys({ visit: { allow } }: { readonly visit: Visit }) {
  const [turn, setTurn] = useState(0);
  const changed = (secret: string | null): void => {
    if (secret !== null) newSecrets.value = [...newSecrets.value, secret];
    setTurn((before) => before + 1);
    // The number of keys may be wrong for a moment. That must not look as if the change had failed.
    void refresh().catch(() => {});
  };
  const columns: Column<PortalKey>[] = [
    { title: 'Key', cell: ({ start, name }) => <KeyName start={start} name={name} /> },
    { title: 'State', cell: (key) => <State {...key} /> },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? 'never' : <Ago at={lastUsedAt} />) },
    {
      title: 'Credits left',
      cell: ({ remaining }) => remaining !== undefined && <Count of={remaining} />,
      isNumber: true,
    },
  ];
  if (allow.includes('rotate') || allow.includes('delete')) {
    columns.push({ title: 'Change', cell: (key) => <Actions key_={key} allow={allow} onChanged={changed} /> });
  }
  return (
    <section aria-labelledby="keys">
      <div class="row">
        <h2 id="keys">Your keys</h2>
        {allow.includes('create') && (
          <DialogButton label="Create a key" title="Create a key" kind="primary">
            {(close) => (
              <Form
                button="Create"
                onSend={async (data) => {
                  const name = textOf(data, 'name');
                  const { key } = await call('createKey', name === undefined ? {} : { name });
                  close();
                  changed(key);
                }}
              >
                <TextField label="Name" name="name" hint="For you, for example: production server." />
              </Form>
            )}
          </DialogButton>
        )}
      </div>
      <PagedTable
        caption="List of your keys"
        columns={columns}
        on={[turn]}
        keyOf={({ id }) => id}
        empty={<p>You have no keys yet.</p>}
        load={async (cursor) => {
          const page = await call('listKeys', cursor === undefined ? {} : { cursor });
          return { rows: page.keys, cursor: page.cursor, total: page.total };
        }}
      />
    </section>
  );
}

function KeyName({ start, name }: { readonly start: string; readonly name: string | undefined }) {
  return (
    <>
      {name !== undefined && <bdi>{name} </bdi>}
      <code>{start}…</code>
    </>
  );
}

function State({ enabled, expires }: PortalKey) {
  if (!enabled) return <Badge kind="bad">disabled</Badge>;
  if (expires === undefined) return <Badge kind="good">active</Badge>;
  if (expires <= nowMs()) return <Badge kind="bad">expired</Badge>;
  return (
    <>
      <Badge kind="good">active</Badge> until <Time at={expires} />
    </>
  );
}

function Actions({
  key_: { id, start, name },
  allow,
  onChanged,
}: {
  readonly key_: PortalKey;
  readonly allow: Visit['allow'];
  readonly onChanged: (secret: string | null) => void;
}) {
  return (
    <span class="actions">
      {allow.includes('rotate') && (
        <DialogButton label="Rotate" title={`Rotate ${name ?? start}`}>
          {(close) => (
            <Form
              button="Give it a new secret"
              onSend={async (data) => {
                const { key } = await call('rotateKey', { keyId: id, overlapMs: numberOf(data, 'overlap') ?? 0 });
                close();
                onChanged(key);
              }}
            >
              <SelectField
                label="The current secret"
                name="overlap"
                options={OVERLAPS}
                defaultValue={String(HOUR_MS)}
              />
            </Form>
          )}
        </DialogButton>
      )}
      {allow.includes('delete') && (
        <DeleteButton
          label="Delete"
          name={start}
          explains="Programs that use this key stop working immediately."
          onDelete={async () => {
            await call('deleteKey', { keyId: id });
            onChanged(null);
          }}
        />
      )}
    </span>
  );
}
