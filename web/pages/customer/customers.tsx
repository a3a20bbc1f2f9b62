import type { IdentitiesCreateIdentityRequest, Identity } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { listCustomers } from '../../paged.ts';
import { customerPath, goTo, hrefOf, query } from '../../router.ts';
import { CreateForm } from '../../ui/edit/createForm.tsx';
import type { EditedField } from '../../ui/edit/editForm.tsx';
import { lineField, metaField, numberField } from '../../ui/edit/fields.tsx';
import { DialogButton } from '../../ui/form.tsx';
import { SearchField } from '../../ui/search.tsx';
import { Badge, Count } from '../../ui/show.tsx';
import { type PageOf, PagedTable } from '../../ui/table.tsx';
import { from } from '../pageOf.ts';

/** A customer with the name of its plan. */
interface Row extends Identity {
  readonly planName?: string | undefined;
}

async function loadCustomers(search: string, cursor: string | undefined): Promise<PageOf<Row>> {
  const request = search === '' ? from(cursor) : { ...from(cursor), search };
  const { identities, ...page } = await listCustomers(request);
  const names = await namesOfPlans(identities.flatMap(({ planId }) => planId ?? []));
  const rows = identities.map((each) => ({ ...each, planName: names.get(each.planId ?? '') }));
  return { rows, ...page };
}

/** Without the right to read a plan, its id is shown. So it is when the plan was deleted meanwhile. */
async function namesOfPlans(planIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const readable = [...new Set(planIds)].filter((planId) => may('plan.read_plan', planId));
  const plans = await Promise.allSettled(readable.map((planId) => keystile.plans.get({ planId })));
  return new Map(plans.flatMap((plan) => (plan.status === 'fulfilled' ? [[plan.value.id, plan.value.name]] : [])));
}

const NEW_CUSTOMER: Pick<Identity, 'meta'> = { meta: {} };

const FIELDS: readonly EditedField<Pick<Identity, 'meta'>>[] = [
  lineField(
    { name: 'externalId', label: 'Your id', hint: 'How your own system names the customer.', required: true },
    () => undefined,
  ),
  lineField({ name: 'name', label: 'Name' }, () => undefined),
  numberField({ name: 'remaining', label: 'Credits', hint: 'All keys of the customer share them.' }, () => undefined),
  metaField(),
];

export function Customers() {
  const search = query.value.get('search') ?? '';
  return (
    <>
      <div class="row">
        <h1>Customers</h1>
        {may('identity.create_identity') && (
          <DialogButton label="Create a customer" title="Create a customer" kind="primary">
            {(close) => (
              <CreateForm
                empty={NEW_CUSTOMER}
                fields={FIELDS}
                onSend={async (given) => {
                  const request = given as IdentitiesCreateIdentityRequest;
                  await keystile.identities.create(request);
                  close();
                  goTo(customerPath(request.externalId));
                }}
              />
            )}
          </DialogButton>
        )}
      </div>
      <div class="filters">
        <SearchField
          label="Search"
          value={search}
          onSearch={(text) => goTo(`/customers?${new URLSearchParams({ search: text })}`, 'replace')}
        />
      </div>
      <PagedTable<Row>
        caption="Customers"
        on={[search]}
        keyOf={({ id }) => id}
        empty={
          search === ''
            ? 'There are no customers yet. Create one here, or name one when you create a key.'
            : 'No customers match.'
        }
        load={(cursor) => loadCustomers(search, cursor)}
        columns={[
          {
            title: 'Customer',
            cell: ({ externalId, name }) => (
              <a href={hrefOf(customerPath(externalId))}>
                <bdi>{name ?? externalId}</bdi>
              </a>
            ),
          },
          { title: 'Your id', cell: ({ externalId }) => <bdi>{externalId}</bdi> },
          {
            title: 'State',
            cell: ({ enabled }) => <Badge kind={enabled ? 'good' : 'plain'}>{enabled ? 'Active' : 'Disabled'}</Badge>,
          },
          {
            title: 'Credits',
            isNumber: true,
            cell: ({ remaining }) => remaining !== undefined && <Count of={remaining} />,
          },
          {
            title: 'Plan',
            cell: ({ planId, planName }) =>
              planName === undefined ? (
                planId
              ) : (
                <a href={hrefOf(`/plans/${planId}`)}>
                  <bdi>{planName}</bdi>
                </a>
              ),
          },
        ]}
      />
    </>
  );
}
