import { useState } from 'preact/hooks';

import type { IdentityDetails, KeyDetails } from '../../../sdk/src/generated/api.ts';
import { KeystileError } from '../../../sdk/src/errors.ts';
import { keystile, may } from '../../client.ts';
import { outcomeSeries } from '../../outcomes.ts';
import { customerPath, hrefOf } from '../../router.ts';
import { Legend, StackedChart } from '../../ui/chart.tsx';
import { Form } from '../../ui/form.tsx';
import { LimitGauges, type UsedLimit } from '../../ui/gauge.tsx';
import { Ago, alertWords, Copyable, Facts, Showing, Time } from '../../ui/show.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import { plainFacts } from '../../ui/plainLines.tsx';
import { ChangesOf } from '../audit.tsx';
import { Meta } from '../meta.tsx';
import { Balance, creditsOfCustomer, creditsOfKey } from '../balance.tsx';
import { KeyActions } from './keyActions.tsx';
import { KeyState } from './keyState.tsx';

interface Found {
  readonly key: KeyDetails;
  /** Absent without the right to see it. */
  readonly customer: IdentityDetails | null;
}

async function load(keyId: string, onMissing: () => void): Promise<Found> {
  const key = await keystile.keys.get({ keyId }).catch((error: unknown) => {
    if (error instanceof KeystileError && error.code === 'NOT_FOUND') onMissing();
    throw error;
  });
  const { identity } = key;
  const maySee = identity !== undefined && may('identity.read_identity', identity.id);
  return { key, customer: maySee ? await keystile.identities.get({ identityId: identity.id }) : null };
}

export function KeyPage({ id: keyId }: { readonly id: string }) {
  const [isMissing, setMissing] = useState(false);
  return isMissing ? (
    <MissingKey keyId={keyId} onRestored={() => setMissing(false)} />
  ) : (
    <PresentKey keyId={keyId} onMissing={() => setMissing(true)} />
  );
}

function PresentKey({ keyId, onMissing }: { readonly keyId: string; readonly onMissing: () => void }) {
  const found = useLoaded(() => load(keyId, onMissing), [keyId], 5_000);
  return (
    <Showing loaded={found}>
      {({ key, customer }) => (
        <>
          <div class="row">
            <h1>
              <bdi>{key.name ?? `${key.start}…`}</bdi>
            </h1>
            <KeyActions of={key} reload={found.reload} />
          </div>
          <KeyFacts of={key} />
          {key.remaining !== undefined && <Balance of={creditsOfKey(key)} />}
          {customer?.remaining !== undefined && <Balance of={creditsOfCustomer(customer)} />}
          <LimitGauges limits={limitsOf(key, customer)} />
          <KeyVerifications of={key} />
          <Meta of={key.meta} />
          <ChangesOf target={keyId} />
        </>
      )}
    </Showing>
  );
}

function KeyFacts({ of: key }: { readonly of: KeyDetails }) {
  return (
    <Facts
      rows={[
        ['State', <KeyState of={key} />],
        ['Starts with', <code>{key.start}…</code>],
        ['Id', <Copyable label="the id" text={key.id} />],
        [
          'Customer',
          key.ownerId !== undefined && (
            <a href={hrefOf(customerPath(key.ownerId))}>
              <bdi>{key.ownerId}</bdi>
            </a>
          ),
        ],
        ['Plan', key.plan !== undefined && <bdi>{key.plan.name}</bdi>],
        ['Created', <Time at={key.createdAt} />],
        ['Last used', key.lastUsedAt === undefined ? 'never' : <Ago at={key.lastUsedAt} />],
        ['Expires', key.expires !== undefined && <Ago at={key.expires} />],
        ['Pay as you go', key.metered === true && 'yes: spent credits are counted, without a balance'],
        ['Alerts', alertWords(key.alerts)],
        ...plainFacts('key', key),
        ['Roles', key.roles.length > 0 && <bdi>{key.roles.join(', ')}</bdi>],
        ['Permissions', key.permissions.length > 0 && <bdi>{key.permissions.join(', ')}</bdi>],
        ['Addresses', key.ipAllowlist?.join(', ')],
      ]}
    />
  );
}

/** All limits that a verification of the key counts in: its own, and those of its customer and plan. */
function limitsOf(key: KeyDetails, customer: IdentityDetails | null): readonly UsedLimit[] {
  const shared = [...(customer?.ratelimits ?? []), ...(customer?.plan?.ratelimits ?? [])];
  return [
    ...(key.ratelimit === undefined ? [] : [{ ...key.ratelimit, name: 'default' }]),
    ...(key.ratelimits ?? []),
    ...(key.plan?.ratelimits ?? []),
    ...shared.map((limit) => ({ ...limit, name: `${limit.name} (shared by the customer's keys)` })),
  ];
}

function KeyVerifications({ of: { id: keyId, apiId } }: { readonly of: KeyDetails }) {
  const mayRead = may('api.read_analytics', apiId);
  const counts = useLoaded(
    async () => (mayRead ? (await keystile.keys.getVerifications({ keyId, granularity: 'day' })).verifications : []),
    [keyId],
    5_000,
  );
  if (!mayRead) return null;
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

/** A key that was deleted can be restored, unless it was deleted for good. */
function MissingKey({ keyId, onRestored }: { readonly keyId: string; readonly onRestored: () => void }) {
  return (
    <>
      <h1>Key not found</h1>
      <p>
        The key <code>{keyId}</code> was deleted, or never existed.
      </p>
      {may('api.update_key') && (
        <Form
          button="Restore the key"
          onSend={async () => {
            await keystile.keys.restore({ keyId });
            onRestored();
          }}
        >
          <p>If it was deleted, you can restore it. Its secret becomes valid again immediately.</p>
        </Form>
      )}
      <ChangesOf target={keyId} />
      <p>
        <a href={hrefOf('/keys')}>Go to the keys</a>
      </p>
    </>
  );
}
