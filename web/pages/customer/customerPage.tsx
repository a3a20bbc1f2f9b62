import type { IdentityDetails } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { goTo, hrefOf } from '../../router.ts';
import { type EditedField, EditForm } from '../../ui/edit/editForm.tsx';
import { alertsField, limitsField, meteredField, refillField } from '../../ui/edit/counterFields.tsx';
import { lineField, metaField, numberField } from '../../ui/edit/fields.tsx';
import { DialogButton } from '../../ui/form.tsx';
import { LimitGauges } from '../../ui/gauge.tsx';
import { alertWords, Badge, Copyable, Count, Facts, Showing } from '../../ui/show.tsx';
import { ToggleButton } from '../../ui/toggle.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import { plainFacts, plainFields } from '../../ui/plainLines.tsx';
import { AssignPlan } from '../assignPlan.tsx';
import { ChangesOf } from '../audit.tsx';
import { Balance, creditsOfCustomer } from '../balance.tsx';
import { ChangeCredits, type CreditsChange } from '../changeCredits.tsx';
import { Meta } from '../meta.tsx';
import { DeleteCustomer } from './deleteCustomer.tsx';
import { PortalLink } from './portalLink.tsx';

export function CustomerPage({ id: externalId }: { readonly id: string }) {
  const customer = useLoaded(() => keystile.identities.get({ externalId }), [externalId], 5_000);
  return (
    <Showing loaded={customer}>
      {(value) => (
        <>
          <div class="row">
            <h1>
              <bdi>{value.name ?? value.externalId}</bdi>
            </h1>
            <CustomerActions of={value} reload={customer.reload} />
          </div>
          <Facts
            rows={[
              ['State', <Badge kind={value.enabled ? 'good' : 'plain'}>{value.enabled ? 'Active' : 'Disabled'}</Badge>],
              ['Your id', <Copyable label="your id" text={value.externalId} />],
              ['Id', <Copyable label="the id" text={value.id} />],
              [
                'Keys',
                <>
                  <Count of={value.keys} />{' '}
                  {value.maxKeys !== undefined && (
                    <>
                      of at most <Count of={value.maxKeys} />{' '}
                    </>
                  )}
                  {value.keys > 0 && (
                    <a href={hrefOf(`/keys?${new URLSearchParams({ customer: externalId })}`)}>Show its keys</a>
                  )}
                </>,
              ],
              ['Plan', value.plan !== undefined && <bdi>{value.plan.name}</bdi>],
              ['Pay as you go', value.metered === true && 'yes: spent credits are counted, without a balance'],
              ['Alerts', alertWords(value.alerts)],
              ...plainFacts('customer', value),
            ]}
          />
          {value.remaining !== undefined && <Balance of={creditsOfCustomer(value)} />}
          {may('identity.read_usage', value.id) && (
            <p>
              <a href={hrefOf(`/usage?${new URLSearchParams({ customer: externalId })}`)}>Show its usage</a>
            </p>
          )}
          <LimitGauges limits={[...value.ratelimits, ...(value.plan?.ratelimits ?? [])]} />
          <Meta of={value.meta} />
          <ChangesOf target={value.id} />
        </>
      )}
    </Showing>
  );
}

function fieldsOf(customer: IdentityDetails): readonly EditedField<IdentityDetails>[] {
  return [
    lineField({ name: 'name', label: 'Name' }, ({ name }) => name),
    ...plainFields<IdentityDetails>('customer'),
    numberField(
      { name: 'maxKeys', label: 'Maximum keys', hint: 'Leave empty for no limit.', min: 0 },
      ({ maxKeys }) => maxKeys,
    ),
    // A refill needs credits.
    ...(customer.remaining === undefined ? [] : [refillField<IdentityDetails>(({ refill }) => refill)]),
    meteredField(),
    alertsField(customer, customer.remaining !== undefined),
    limitsField({ name: 'ratelimits', label: 'Limits that its keys share' }, ({ ratelimits }) => ratelimits),
    metaField(),
  ];
}

function CustomerActions({ of: customer, reload }: { readonly of: IdentityDetails; readonly reload: () => void }) {
  const { id: identityId, externalId } = customer;
  const mayUpdate = may('identity.update_identity', identityId);
  return (
    <div class="actions">
      {mayUpdate && (
        <>
          <DialogButton label="Edit" title="Edit the customer">
            {(close) => (
              <EditForm
                record={customer}
                read={() => keystile.identities.get({ identityId })}
                fields={fieldsOf(customer)}
                onSend={async (patch) => {
                  await keystile.identities.update({ identityId, ...patch });
                  close();
                  reload();
                }}
              />
            )}
          </DialogButton>
          <ChangeCredits
            hasCredits={customer.remaining !== undefined}
            onChange={async (change) => {
              await changeCredits(identityId, change);
              reload();
            }}
          />
        </>
      )}
      {mayUpdate && may('plan.assign_plan') && (
        <AssignPlan
          holder={{ externalId }}
          present={customer}
          read={() => keystile.identities.get({ identityId })}
          reload={reload}
        />
      )}
      {mayUpdate && (
        <ToggleButton
          isOn={customer.enabled}
          what="customer"
          explains={{
            on: 'The keys of the customer work again.',
            off: 'All keys of the customer are refused immediately. You can enable it again.',
          }}
          onToggle={async (enabled) => {
            await keystile.identities.update({ identityId, enabled });
            reload();
          }}
        />
      )}
      {may('api.read_key') && may('api.read_api') && <PortalLink identityId={identityId} />}
      {may('identity.delete_identity', identityId) && (
        <DeleteCustomer of={customer} onDeleted={() => goTo('/customers')} />
      )}
    </div>
  );
}

async function changeCredits(identityId: string, change: CreditsChange): Promise<void> {
  if ('set' in change) await keystile.identities.update({ identityId, remaining: change.set });
  else await keystile.credits.adjust({ identityId, by: change.add, reason: 'Changed in the dashboard.' });
}
