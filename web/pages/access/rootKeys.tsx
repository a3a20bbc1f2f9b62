import { useState } from 'preact/hooks';

import type { RootKey, RootKeysCreateRootKeyRequest } from '../../../sdk/src/generated/api.ts';
import { coversRight } from '../../../src/core/rights.ts';
import { allOf } from '../../allOf.ts';
import { keystile, may, session } from '../../client.ts';
import { nowMs } from '../../clock.ts';
import { CreateForm } from '../../ui/edit/createForm.tsx';
import type { EditedField } from '../../ui/edit/editForm.tsx';
import { lineField, timeField } from '../../ui/edit/fields.tsx';
import { DeleteButton, DialogButton, Form, numberOf, TextField } from '../../ui/form.tsx';
import { Ago, Badge, Copyable, Showing } from '../../ui/show.tsx';
import { Table } from '../../ui/table.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import { RIGHTS_FIELD } from './rightsInput.tsx';

const HOUR_MS = 3_600_000;
/** The longest overlap of a rotation: 30 days. */
const MAX_OVERLAP_HOURS = 720;

export function RootKeys() {
  const rootKeys = useLoaded(() => allOf(keystile.rootKeys.list({})), []);
  const [secret, setSecret] = useState<string | null>(null);
  const show = (made: string): void => {
    setSecret(made);
    rootKeys.reload();
  };
  return (
    <section aria-labelledby="root-keys">
      <div class="row">
        <h1 id="root-keys">Root keys</h1>
        {may('root.create_root_key', '*') && <CreateRootKey onSecret={show} />}
      </div>
      {secret !== null && (
        <p class="notice" role="status">
          Copy the root key now. It is shown only once: <Copyable label="the root key" text={secret} />
        </p>
      )}
      <Showing loaded={rootKeys}>
        {(all) => (
          <Table<RootKey>
            caption="Table of root keys"
            rows={all}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Name', cell: ({ id, name }) => <bdi>{name ?? id}</bdi> },
              { title: 'Starts with', cell: ({ start }) => <code>{start}…</code> },
              { title: 'Rights', cell: ({ permissions }) => permissions.join(' ') },
              { title: 'State', cell: (rootKey) => <RootKeyState of={rootKey} /> },
              { title: 'Created', cell: ({ createdAt }) => <Ago at={createdAt} /> },
              { title: 'Expires', cell: ({ expires }) => (expires === undefined ? 'never' : <Ago at={expires} />) },
              {
                title: 'Change',
                cell: (rootKey) => <RootKeyActions of={rootKey} onSecret={show} reload={rootKeys.reload} />,
              },
            ]}
          />
        )}
      </Showing>
    </section>
  );
}

const isExpired = ({ expires }: RootKey): boolean => expires !== undefined && expires <= nowMs();

function RootKeyState({ of: rootKey }: { readonly of: RootKey }) {
  if (rootKey.revokedAt !== undefined) return <Badge kind="plain">Revoked</Badge>;
  return isExpired(rootKey) ? <Badge kind="plain">Expired</Badge> : <Badge kind="good">Active</Badge>;
}

const NEW_ROOT_KEY = {};

const FIELDS: readonly EditedField<{ readonly name?: string; readonly expires?: number }>[] = [
  lineField({ name: 'name', label: 'Name', required: true }, ({ name }) => name),
  RIGHTS_FIELD,
  timeField({ name: 'expires', label: 'Expires', hint: 'Leave empty for no expiry.' }, ({ expires }) => expires),
];

function CreateRootKey({ onSecret }: { readonly onSecret: (secret: string) => void }) {
  return (
    <DialogButton label="Create a root key" title="Create a root key" kind="primary">
      {(close) => (
        <CreateForm
          empty={NEW_ROOT_KEY}
          fields={FIELDS}
          onSend={async (given) => {
            if (!('permissions' in given)) throw new Error('Choose at least one right.');
            onSecret((await keystile.rootKeys.create(given as RootKeysCreateRootKeyRequest)).key);
            close();
          }}
        />
      )}
    </DialogButton>
  );
}

function RootKeyActions({
  of: rootKey,
  onSecret,
  reload,
}: {
  readonly of: RootKey;
  readonly onSecret: (secret: string) => void;
  readonly reload: () => void;
}) {
  const { id: rootKeyId, start, permissions, revokedAt } = rootKey;
  if (revokedAt !== undefined) return null;
  const own = session.value?.permissions ?? [];
  // Whoever rotates a root key gets its rights.
  const mayRotate =
    may('root.create_root_key', rootKeyId) &&
    permissions.every((right) => coversRight(own, right)) &&
    !isExpired(rootKey);
  return (
    <div class="actions">
      {mayRotate && <RotateRootKey rootKeyId={rootKeyId} onSecret={onSecret} />}
      {may('root.revoke_root_key', rootKeyId) && (
        <DeleteButton
          label="Revoke"
          name={start}
          explains="The root key and all its sessions end immediately. This cannot be undone."
          onDelete={async () => {
            await keystile.rootKeys.revoke({ rootKeyId });
            reload();
          }}
        />
      )}
    </div>
  );
}

function RotateRootKey({
  rootKeyId,
  onSecret,
}: {
  readonly rootKeyId: string;
  readonly onSecret: (secret: string) => void;
}) {
  // Without an overlap this session would end too, and cover the new secret with the sign-in form.
  const isOwn = rootKeyId === session.value?.rootKeyId;
  return (
    <DialogButton label="Rotate" title="Give the root key another secret">
      {(close) => (
        <Form
          button="Rotate the root key"
          onSend={async (data) => {
            const overlapMs = (numberOf(data, 'hours') ?? 0) * HOUR_MS;
            onSecret((await keystile.rootKeys.rotate({ rootKeyId, overlapMs })).key);
            close();
          }}
        >
          <TextField
            label="Hours for which the old secret stays valid"
            name="hours"
            type="number"
            required
            min={isOwn ? 1 : 0}
            max={MAX_OVERLAP_HOURS}
            defaultValue="24"
            hint={
              isOwn
                ? 'You are signed in with this root key, so enter at least 1.'
                : '0 ends all earlier secrets and all sessions of the root key immediately.'
            }
          />
        </Form>
      )}
    </DialogButton>
  );
}
