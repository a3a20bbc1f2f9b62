import { useState } from 'preact/hooks';

import type { KeyDetails } from '../../sdk/src/generated/api.ts';
import { keystile, may } from '../client.ts';
import { outcomeSeries } from '../outcomes.ts';
import { customerPath, goTo, hrefOf } from '../router.ts';
import { Legend, StackedChart } from '../ui/chart.tsx';
import { DeleteButton, DialogButton, Form, numberOf, TextField } from '../ui/form.tsx';
import { Ago, Copyable, Count, duration, Facts, Showing, Time } from '../ui/show.tsx';
import { ToggleButton } from '../ui/toggle.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { KeyState } from './keyState.tsx';

export function KeyPage({ id: keyId }: { readonly id: string }) {
  const key = useLoaded(() => keystile.keys.get({ keyId }), [keyId], 5_000);
  return (
    <Showing loaded={key}>
      {(value) => (
        <>
          <div class="row">
            <h1>
              <bdi>{value.name ?? `${value.start}…`}</bdi>
            </h1>
            <KeyActions of={value} reload={key.reload} />
          </div>
          <Facts
            rows={[
              ['State', <KeyState of={value} />],
              ['Starts with', <code>{value.start}…</code>],
              ['Id', <Copyable label="the id" text={value.id} />],
              [
                'Customer',
                value.ownerId !== undefined && (
                  <a href={hrefOf(customerPath(value.ownerId))}>
                    <bdi>{value.ownerId}</bdi>
                  </a>
                ),
              ],
              ['Created', <Time at={value.createdAt} />],
              ['Last used', value.lastUsedAt === undefined ? 'never' : <Ago at={value.lastUsedAt} />],
              ['Expires', value.expires !== undefined && <Ago at={value.expires} />],
              ['Credits', value.remaining !== undefined && <Count of={value.remaining} />],
              ['Next refill', value.refill?.nextRefillAt !== undefined && <Ago at={value.refill.nextRefillAt} />],
              ['Permissions', value.permissions.join(', ')],
              ['Roles', value.roles.join(', ')],
            ]}
          />
          {value.ratelimit !== undefined && (
            <p>
              At most <Count of={value.ratelimit.limit} /> in {duration(value.ratelimit.duration)} (
              {value.ratelimit.async ? 'local' : 'strict'}).
            </p>
          )}
          <KeyVerifications keyId={keyId} />
          {Object.keys(value.meta).length > 0 && (
            <>
              <h2>Meta</h2>
              <pre>{JSON.stringify(value.meta, null, 2)}</pre>
            </>
          )}
        </>
      )}
    </Showing>
  );
}

function KeyVerifications({ keyId }: { readonly keyId: string }) {
  const counts = useLoaded(
    async () => (await keystile.keys.getVerifications({ keyId, granularity: 'day' })).verifications,
    [keyId],
    5_000,
  );
  return (
    <section aria-labelledby="uses">
      <h2 id="uses">Verifications, last 30 days</h2>
      <Showing loaded={counts}>
        {(rows) => {
          const series = outcomeSeries(rows.map(({ success, ...row }) => ({ ...row, valid: success })));
          return (
            <>
              <Legend series={series} />
              <StackedChart label="Verifications of this key" times={rows.map(({ time }) => time)} series={series} />
            </>
          );
        }}
      </Showing>
    </section>
  );
}

function KeyActions({ of: key, reload }: { readonly of: KeyDetails; readonly reload: () => void }) {
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <div class="actions">
      {secret !== null && (
        <p class="notice" role="status">
          The new secret, shown this once: <Copyable label="the new secret" text={secret} />
        </p>
      )}
      {may('api.update_key', key.apiId) && (
        <>
          <ToggleButton
            isOn={key.enabled}
            what="key"
            explains={{
              on: 'Verifications are answered again.',
              off: 'Verifications answer DISABLED at once. You can enable it again.',
            }}
            onToggle={async (enabled) => {
              await keystile.keys.update({ keyId: key.id, enabled });
              reload();
            }}
          />
          <DialogButton label="Rotate" title="Give the key a new secret">
            {(close) => (
              <Form
                button="Rotate"
                onSend={async (data) => {
                  const overlapMs = (numberOf(data, 'hours') ?? 0) * 3_600_000;
                  setSecret((await keystile.keys.rotate({ keyId: key.id, overlapMs })).key);
                  close();
                  reload();
                }}
              >
                <TextField
                  label="The old secret stays valid for hours"
                  name="hours"
                  type="number"
                  min={0}
                  defaultValue="24"
                />
              </Form>
            )}
          </DialogButton>
        </>
      )}
      {may('api.delete_key', key.apiId) && (
        <DeleteButton
          label="Delete the key"
          name={key.start}
          explains="Verifications answer NOT_FOUND at once. The key can be restored with keys.restoreKey."
          onDelete={async () => {
            await keystile.keys.delete({ keyId: key.id });
            goTo(`/keys?api=${key.apiId}`);
          }}
        />
      )}
    </div>
  );
}
