import type { Identity } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { listCustomers } from '../../paged.ts';
import { customerPath, goTo, hrefOf, query } from '../../router.ts';
import { MetaField, metaOf } from '../../ui/edit/fields.tsx';
import { DialogButton, Form, numberOf, textOf, TextField } from '../../ui/form.tsx';
import { SearchField } from '../../ui/search.tsx';
import { Badge, Count } from '../../ui/show.tsx';
import { PagedTable } from '../../ui/table.tsx';
import { from } from '../pageOf.ts';

export function Customers() {
  const search = query.value.get('search') ?? '';
  return (
    <>
      <div class="row">
        <h1>Customers</h1>
        {may('identity.create_identity') && (
          <DialogButton label="Create a customer" title="Create a customer" kind="primary">
            {(close) => (
              <Form
                button="Create"
                onSend={async (data) => {
                  const externalId = textOf(data, 'externalId') ?? '';
                  await keystile.identities.create({
                    externalId,
                    name: textOf(data, 'name'),
                    remaining: numberOf(data, 'remaining'),
                    meta: metaOf(textOf(data, 'meta') ?? ''),
                  });
                  close();
                  goTo(customerPath(externalId));
                }}
              >
                <TextField label="Your id" name="externalId" required hint="How your own system names the customer." />
                <TextField label="Name" name="name" />
                <TextField
                  label="Credits"
                  name="remaining"
                  type="number"
                  min={0}
                  hint="All keys of the customer share them."
                />
                <MetaField />
              </Form>
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
      <PagedTable<Identity>
        caption="Customers"
        on={[search]}
        keyOf={({ id }) => id}
        empty={search === '' ? 'There are no customers yet.' : 'No customer fits.'}
        load={async (cursor) => {
          const { identities, ...page } = await listCustomers({
            ...from(cursor),
            ...(search === '' ? {} : { search }),
          });
          return { rows: identities, ...page };
        }}
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
          { title: 'Plan', cell: ({ planId }) => planId ?? '' },
        ]}
      />
    </>
  );
}
