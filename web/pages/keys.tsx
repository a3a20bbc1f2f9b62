import { useState } from 'preact/hooks';

import type { Key, KeyDetails, KeysCreateKeyRequest } from '../../sdk/src/generated/api.ts';
import { keystile, may } from '../client.ts';
import { outcomeSeries } from '../outcomes.ts';
import { listApis, listKeys } from '../paged.ts';
import { goTo, hrefOf, query } from '../router.ts';
import { Legend, StackedChart } from '../ui/chart.tsx';
import { DeleteButton, DialogButton, Field, Form, numberOf, textOf, TextField } from '../ui/form.tsx';
import { Ago, Badge, Copyable, Count, duration, Empty, Facts, Showing, Time } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';

const PAGE_SIZE = 50;
const DAY_MS = 86_400_000;

function useApis() {
  return useLoaded(async () => (await listApis({ limit: 100 })).apis, []);
}

export function Keys() {
  const apis = useApis();
  const apiId = query.value.get('api') ?? apis.value?.[0]?.id ?? '';
  const search = query.value.get('search') ?? '';
  const externalId = query.value.get('customer') ?? '';
  const show = (changed: Record<string, string>): void => {
    const next = Object.entries({ api: apiId, search, customer: externalId, ...changed }).filter(([, each]) => each);
    goTo(`/keys?${new URLSearchParams(next)}`, 'replace');
  };
  return (
    <>
      <div class="row">
        <h1>Keys</h1>
        {may('api.create_key') && (
          <a class="button primary" href={hrefOf(`/keys/new${apiId === '' ? '' : `?api=${apiId}`}`)}>
            Create a key
          </a>
        )}
      </div>
      <Showing loaded={apis}>
        {(known) =>
          known.length === 0 ? (
            <Empty>
              Keys belong to an api. <a href={hrefOf('/apis')}>Create an api</a> first.
            </Empty>
          ) : (
            <>
              <div class="filters">
                <Field label="Api">
                  {(ids) => (
                    <select {...ids} value={apiId} onChange={(event) => show({ api: event.currentTarget.value })}>
                      {known.map(({ id, name }) => (
                        <option key={id} value={id}>
                          {name}
                        </option>
                      ))}
                    </select>
                  )}
                </Field>
                <Field label="Search">
                  {(ids) => (
                    <input
                      {...ids}
                      type="search"
                      placeholder="Name, id or start of the secret"
                      defaultValue={search}
                      onChange={(event) => show({ search: event.currentTarget.value.trim() })}
                    />
                  )}
                </Field>
                <Field label="Customer">
                  {(ids) => (
                    <input
                      {...ids}
                      type="search"
                      placeholder="externalId"
                      defaultValue={externalId}
                      onChange={(event) => show({ customer: event.currentTarget.value.trim() })}
                    />
                  )}
                </Field>
              </div>
              <PagedTable<Key>
                caption="Keys"
                on={[apiId, search, externalId]}
                keyOf={({ id }) => id}
                empty={search + externalId === '' ? 'This api has no keys yet.' : 'No key fits.'}
                load={async (cursor) => {
                  const { keys, ...page } = await listKeys({
                    apiId,
                    limit: PAGE_SIZE,
                    ...(cursor === undefined ? {} : { cursor }),
                    ...(search === '' ? {} : { search }),
                    ...(externalId === '' ? {} : { externalId }),
                  });
                  return { rows: keys, ...page };
                }}
                columns={[
                  {
                    title: 'Key',
                    cell: ({ id, start, name }) => (
                      <a href={hrefOf(`/keys/${id}`)}>
                        <bdi>{name ?? `${start}…`}</bdi>
                      </a>
                    ),
                  },
                  { title: 'Starts with', cell: ({ start }) => <code>{start}…</code> },
                  { title: 'Customer', cell: ({ ownerId }) => <bdi>{ownerId ?? ''}</bdi> },
                  { title: 'State', cell: (key) => <State of={key} /> },
                  {
                    title: 'Credits',
                    isNumber: true,
                    cell: ({ remaining }) => remaining !== undefined && <Count of={remaining} />,
                  },
                  { title: 'Created', cell: ({ createdAt }) => <Ago at={createdAt} /> },
                ]}
              />
            </>
          )
        }
      </Showing>
    </>
  );
}

function State({ of: { enabled, expires } }: { readonly of: Key | KeyDetails }) {
  if (!enabled) return <Badge kind="plain">Disabled</Badge>;
  if (expires !== undefined && expires <= Date.now()) return <Badge kind="bad">Expired</Badge>;
  return <Badge kind="good">Active</Badge>;
}

/** What the form asks for, as the call of the API. */
function toRequest(data: FormData): KeysCreateKeyRequest {
  const limit = numberOf(data, 'limit');
  const remaining = numberOf(data, 'remaining');
  const amount = numberOf(data, 'refillAmount');
  const expires = textOf(data, 'expires');
  const optional = {
    prefix: textOf(data, 'prefix'),
    name: textOf(data, 'name'),
    externalId: textOf(data, 'externalId'),
    remaining,
    refill:
      remaining === undefined || amount === undefined
        ? undefined
        : { interval: textOf(data, 'interval') as 'daily', amount },
    ratelimit:
      limit === undefined
        ? undefined
        : { limit, duration: (numberOf(data, 'seconds') ?? 60) * 1000, async: data.get('mode') !== 'strict' },
    expires: expires === undefined ? undefined : new Date(expires).getTime(),
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  return { apiId: textOf(data, 'apiId') ?? '', ...Object.fromEntries(given) };
}

export function CreateKey() {
  const apis = useApis();
  const [request, setRequest] = useState<KeysCreateKeyRequest | null>(null);
  const [made, setMade] = useState<{ keyId: string; key: string } | null>(null);
  if (made !== null) return <NewKey made={made} />;
  return (
    <>
      <h1>Create a key</h1>
      <Showing loaded={apis}>
        {(known) => (
          <div class="columns">
            <div onInput={(event) => setRequest(toRequest(new FormData(formOf(event))))}>
              <Form
                button="Create the key"
                onSend={async (data) => setMade(await keystile.keys.create(toRequest(data)))}
              >
                <Field label="Api">
                  {(ids) => (
                    <select {...ids} name="apiId" required defaultValue={query.value.get('api') ?? ''}>
                      {known.map(({ id, name }) => (
                        <option key={id} value={id}>
                          {name}
                        </option>
                      ))}
                    </select>
                  )}
                </Field>
                <TextField label="Name" name="name" hint="For you. Verifications answer with it." />
                <TextField label="Prefix" name="prefix" hint='"acme" makes keys that begin with acme_.' />
                <TextField
                  label="Customer"
                  name="externalId"
                  hint="Your own id of the customer. All keys of a customer share its credits and limits."
                />
                <fieldset>
                  <legend>Credits</legend>
                  <p class="hint">Each verification takes one. With none left, the key is refused.</p>
                  <TextField
                    label="Credits"
                    name="remaining"
                    type="number"
                    min={0}
                    hint="Empty: no credits are counted."
                  />
                  <Field label="Refill">
                    {(ids) => (
                      <select {...ids} name="interval">
                        <option value="daily">every day at midnight</option>
                        <option value="monthly">every month, on the first</option>
                        <option value="hourly">every hour</option>
                        <option value="weekly">every week</option>
                      </select>
                    )}
                  </Field>
                  <TextField
                    label="Refill to"
                    name="refillAmount"
                    type="number"
                    min={1}
                    hint="Empty: credits are not refilled."
                  />
                </fieldset>
                <fieldset>
                  <legend>Rate limit</legend>
                  <TextField label="Requests" name="limit" type="number" min={1} hint="Empty: no limit." />
                  <TextField label="in seconds" name="seconds" type="number" min={1} defaultValue="60" />
                  <div class="modes" role="radiogroup" aria-label="Mode">
                    <label>
                      <input type="radio" name="mode" value="local" defaultChecked /> Local
                      <span class="hint">
                        Instant. Each location counts by itself and shares its counts behind the request.
                      </span>
                      <LimitPicture isStrict={false} />
                    </label>
                    <label>
                      <input type="radio" name="mode" value="strict" /> Strict
                      <span class="hint">
                        One count for all locations, never exceeded. Each request asks the ledger.
                      </span>
                      <LimitPicture isStrict />
                    </label>
                  </div>
                </fieldset>
                <TextField label="Expires" name="expires" type="datetime-local" hint="Empty: never." />
              </Form>
            </div>
            <SameCall request={request ?? { apiId: query.value.get('api') ?? known[0]?.id ?? '' }} />
          </div>
        )}
      </Showing>
    </>
  );
}

function formOf(event: Event): HTMLFormElement | undefined {
  return (event.target as HTMLInputElement).form ?? undefined;
}

/** Local: each location has a counter. Strict: all ask one. */
function LimitPicture({ isStrict }: { readonly isStrict: boolean }) {
  const title = isStrict
    ? 'Three locations ask one counter.'
    : 'Three locations count by themselves and exchange their counts.';
  return (
    <svg viewBox="0 0 120 44" class="picture" role="img" aria-label={title}>
      {[20, 60, 100].map((x) => (
        <g key={x}>
          <circle cx={x} cy="8" r="6" class="place" />
          {isStrict ? (
            <line x1={x} y1="14" x2="60" y2="32" class="way" />
          ) : (
            <rect x={x - 6} y="28" width="12" height="10" class="counter" />
          )}
          {!isStrict && <line x1={x} y1="14" x2={x} y2="28" class="way" />}
        </g>
      ))}
      {isStrict ? (
        <rect x="52" y="31" width="16" height="12" class="counter" />
      ) : (
        <line x1="26" y1="33" x2="94" y2="33" class="way dashed" />
      )}
    </svg>
  );
}

function SameCall({ request }: { readonly request: KeysCreateKeyRequest }) {
  const json = JSON.stringify(request);
  return (
    <aside aria-label="The same call in code">
      <h2>The same in curl</h2>
      <pre>{`curl ${location.origin}/v1/keys.createKey \\
  -H 'Authorization: Bearer ROOT_KEY' \\
  -H 'Content-Type: application/json' \\
  -d '${json.replaceAll("'", String.raw`'\''`)}'`}</pre>
      <h2>The same in TypeScript</h2>
      <pre>{`const { key } = await keystile.keys.create(
  ${JSON.stringify(request, null, 2).replaceAll('\n', '\n  ')},
);`}</pre>
    </aside>
  );
}

function NewKey({ made: { key, keyId } }: { readonly made: { keyId: string; key: string } }) {
  const line = `curl ${location.origin}/v1/keys.verifyKey -H 'Content-Type: application/json' -d '{"key":"${key}"}'`;
  return (
    <>
      <h1>The key was created</h1>
      <p class="notice">Copy it now: it is shown this once.</p>
      <p>
        <Copyable label="the key" text={key} />
      </p>
      <h2>Verify it</h2>
      <p>
        <Copyable label="the command" text={line} />
      </p>
      <p class="actions">
        <a class="button primary" href={hrefOf(`/keys/${keyId}`)}>
          Open the key
        </a>
        <a class="button" href={hrefOf('/')}>
          See the chart move
        </a>
      </p>
    </>
  );
}

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
              ['State', <State of={value} />],
              ['Starts with', <code>{value.start}…</code>],
              ['Id', <Copyable label="the id" text={value.id} />],
              [
                'Customer',
                value.ownerId !== undefined && (
                  <a href={hrefOf(`/customers/${encodeURIComponent(value.ownerId)}`)}>
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
    async () =>
      (await keystile.keys.getVerifications({ keyId, start: Date.now() - 30 * DAY_MS, granularity: 'day' }))
        .verifications,
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
      {may('api.update_key') && (
        <>
          <DialogButton
            label={key.enabled ? 'Disable' : 'Enable'}
            title={key.enabled ? 'Disable the key?' : 'Enable the key?'}
          >
            {(close) => (
              <Form
                button={key.enabled ? 'Disable the key' : 'Enable the key'}
                onSend={async () => {
                  await keystile.keys.update({ keyId: key.id, enabled: !key.enabled });
                  close();
                  reload();
                }}
              >
                <p>
                  {key.enabled
                    ? 'Verifications answer DISABLED at once. You can enable it again.'
                    : 'Verifications are answered again.'}
                </p>
              </Form>
            )}
          </DialogButton>
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
      {may('api.delete_key') && (
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

export function TryIt() {
  const [verdict, setVerdict] = useState<object | null>(null);
  return (
    <>
      <h1>Try it</h1>
      <p>Paste a key and see its verdict. With a cost of 0, no credits are taken.</p>
      <Form
        button="Verify"
        onSend={async (data) => {
          const cost = numberOf(data, 'cost') ?? 1;
          const permission = textOf(data, 'permission');
          setVerdict(
            await keystile.keys.verify({
              key: textOf(data, 'key') ?? '',
              remaining: { cost },
              ...(permission === undefined ? {} : { authorization: { permissions: permission } }),
            }),
          );
        }}
      >
        <TextField label="Key" name="key" required autoComplete="off" />
        <TextField label="Cost" name="cost" type="number" min={0} defaultValue="0" />
        <TextField label="Permission" name="permission" />
      </Form>
      {verdict !== null && (
        <section aria-live="polite" aria-label="Verdict">
          <h2>Verdict</h2>
          <pre>{JSON.stringify(verdict, null, 2)}</pre>
        </section>
      )}
    </>
  );
}
