import { useState } from 'preact/hooks';

import type { Api, KeysCreateKeyRequest } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { hrefOf, query } from '../../router.ts';
import { meteredField, refillField } from '../../ui/edit/counterFields.tsx';
import { CreateForm } from '../../ui/edit/createForm.tsx';
import type { EditedField } from '../../ui/edit/editForm.tsx';
import { choiceField, lineField, metaField, numberField, timeField } from '../../ui/edit/fields.tsx';
import { LimitsInput } from '../../ui/edit/limitsInput.tsx';
import { Copyable, Empty, Showing } from '../../ui/show.tsx';
import { firstOnly, useApis } from '../useApis.ts';
import { DEFAULT, LIMITS } from './editKey.tsx';
import { useNewCustomer } from './newCustomer.tsx';

export function CreateKey() {
  const asked = query.value.get('api') ?? '';
  const apis = useApis(asked);
  const [made, setMade] = useState<{ keyId: string; key: string } | null>(null);
  if (made !== null) return <NewKey made={made} />;
  return (
    <>
      <h1>Create a key</h1>
      <Showing loaded={apis}>
        {(known) => {
          const first = known.find(({ id }) => id === asked) ?? known[0];
          return first === undefined ? <NoApi /> : <KeyForm apis={known} apiId={first.id} onMade={setMade} />;
        }}
      </Showing>
    </>
  );
}

function NoApi() {
  return (
    <Empty>
      Keys belong to an api, and there is none yet.{' '}
      {may('api.create_api') && (
        <>
          <a href={hrefOf('/apis')}>Create an api</a> first.
        </>
      )}
    </Empty>
  );
}

/** What the form begins with. */
interface New {
  readonly apiId: string;
  readonly meta: object;
  readonly metered?: boolean;
}

const TEXTS: readonly EditedField<New>[] = [
  lineField({ name: 'name', label: 'Name', hint: 'For you. Included in the answers of verifications.' }, nothing),
  lineField({ name: 'prefix', label: 'Prefix', hint: '"acme" makes keys that start with acme_.' }, nothing),
  lineField(
    {
      name: 'externalId',
      label: 'Customer',
      hint: 'Your own id of the customer. All keys of a customer share its credits and limits.',
    },
    nothing,
  ),
];

const COUNTERS: readonly EditedField<New>[] = [
  numberField(
    {
      name: 'remaining',
      label: 'Credits',
      hint: 'Each verification uses one. When none are left, the key is refused. Leave empty to count no credits.',
    },
    nothing,
  ),
  refillField(nothing),
  meteredField(),
  {
    name: LIMITS.name,
    label: LIMITS.label,
    text: () => '',
    input: (text) => (
      <>
        <LimitsInput label={LIMITS.label} name={LIMITS.name} text={text} firstName={DEFAULT} />
        <Modes />
      </>
    ),
    toPatch: LIMITS.toPatch,
  },
];

function nothing(): undefined {
  return undefined;
}

function fieldsOf(apis: readonly Api[]): readonly EditedField<New>[] {
  return [
    choiceField(
      {
        name: 'apiId',
        label: 'Api',
        options: apis.map(({ id, name }) => [id, name] as const),
        hint: firstOnly(apis, 'apis'),
      },
      ({ apiId }) => apiId,
    ),
    ...TEXTS,
    ...COUNTERS,
    timeField({ name: 'expires', label: 'Expires', hint: 'Leave empty for no expiry.' }, nothing),
    metaField(),
  ];
}

function KeyForm({
  apis,
  apiId,
  onMade,
}: {
  readonly apis: readonly Api[];
  readonly apiId: string;
  readonly onMade: (made: { keyId: string; key: string }) => void;
}) {
  const [request, setRequest] = useState<KeysCreateKeyRequest>({ apiId });
  const customer = useNewCustomer();
  return (
    <div class="columns">
      <CreateForm<New>
        empty={{ apiId, meta: {} }}
        fields={fieldsOf(apis)}
        button={customer.unknown === null ? 'Create the key' : 'Create the customer and the key'}
        question={customer.question}
        onInput={(given) => setRequest({ apiId, ...given })}
        onSend={async (given) => {
          if ('refill' in given && !('remaining' in given))
            throw new Error('A refill needs credits. Enter how many the key starts with, or choose no refill.');
          const made = await customer.send(given, (fields) => keystile.keys.create({ apiId, ...fields }));
          if (made !== undefined) onMade(made);
        }}
      />
      <SameCall request={request} />
    </div>
  );
}

/** The two modes that a limit can have. */
function Modes() {
  return (
    <div class="modes">
      <div>
        <strong>Local</strong>
        <p class="hint">Instant. Each location counts on its own and shares its counts in the background.</p>
        <LimitPicture isStrict={false} />
      </div>
      <div>
        <strong>Strict</strong>
        <p class="hint">One count for all locations, never exceeded. Every request asks the database.</p>
        <LimitPicture isStrict />
      </div>
    </div>
  );
}

function LimitPicture({ isStrict }: { readonly isStrict: boolean }) {
  const title = isStrict
    ? 'Three locations ask one counter.'
    : 'Three locations count on their own and exchange their counts.';
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
      <p class="notice">Copy it now. It is shown only once.</p>
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
          See verifications as they happen
        </a>
      </p>
    </>
  );
}
