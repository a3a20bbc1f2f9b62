import { useState } from 'preact/hooks';

import type { KeysCreateKeyRequest } from '../../../sdk/src/generated/api.ts';
import { keystile } from '../../client.ts';
import { hrefOf, query } from '../../router.ts';
import { MetaField, metaOf } from '../../ui/edit/fields.tsx';
import { Form, numberOf, SelectField, textOf, TextField } from '../../ui/form.tsx';
import { Copyable, Showing } from '../../ui/show.tsx';
import { useApis } from '../useApis.ts';

export function CreateKey() {
  const apis = useApis(query.value.get('api') ?? '');
  const [request, setRequest] = useState<KeysCreateKeyRequest | null>(null);
  const [made, setMade] = useState<{ keyId: string; key: string } | null>(null);
  if (made !== null) return <NewKey made={made} />;
  return (
    <>
      <h1>Create a key</h1>
      <Showing loaded={apis}>
        {(known) => (
          <div class="columns">
            <div onInput={(event) => setRequest(readable(new FormData(formOf(event))) ?? request)}>
              <Form
                button="Create the key"
                onSend={async (data) => setMade(await keystile.keys.create(toRequest(data)))}
              >
                <SelectField
                  label="Api"
                  name="apiId"
                  options={known.map(({ id, name }) => [id, name])}
                  defaultValue={query.value.get('api') ?? ''}
                />
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
                  <SelectField
                    label="Refill"
                    name="interval"
                    options={[
                      ['daily', 'every day at midnight'],
                      ['monthly', 'every month, on the first'],
                      ['hourly', 'every hour'],
                      ['weekly', 'every week'],
                    ]}
                  />
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
                <MetaField />
              </Form>
            </div>
            <SameCall request={request ?? { apiId: query.value.get('api') ?? known[0]?.id ?? '' }} />
          </div>
        )}
      </Showing>
    </>
  );
}

/** null while what was typed cannot be sent. */
function readable(data: FormData): KeysCreateKeyRequest | null {
  try {
    return toRequest(data);
  } catch {
    return null;
  }
}

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
    meta: metaOf(textOf(data, 'meta') ?? ''),
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  return { apiId: textOf(data, 'apiId') ?? '', ...Object.fromEntries(given) };
}

function formOf(event: Event): HTMLFormElement | undefined {
  return (event.target as HTMLInputElement).form ?? undefined;
}

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
