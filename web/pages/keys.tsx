import type { Key } from '../../sdk/src/generated/api.ts';
import { may } from '../client.ts';
import { listKeys } from '../paged.ts';
import { goTo, hrefOf, query } from '../router.ts';
import { Field, SearchField } from '../ui/form.tsx';
import { Ago, Count, Empty, Showing } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { useApis } from './useApis.ts';
import { KeyState } from './keyState.tsx';

const PAGE_SIZE = 50;

export function Keys() {
  const apis = useApis(query.value.get('api') ?? '');
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
                <SearchField
                  label="Search"
                  value={search}
                  placeholder="Name, id or start of the secret"
                  onSearch={(text) => show({ search: text })}
                />
                <SearchField
                  label="Customer"
                  value={externalId}
                  placeholder="externalId"
                  onSearch={(customer) => show({ customer })}
                />
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
                  { title: 'State', cell: (key) => <KeyState of={key} /> },
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
