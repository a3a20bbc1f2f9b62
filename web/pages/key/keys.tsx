import type { Key } from '../../../sdk/src/generated/api.ts';
import { may } from '../../client.ts';
import { hrefOf } from '../../router.ts';
import { Ago, Count, Empty, Showing } from '../../ui/show.tsx';
import { PagedTable } from '../../ui/table.tsx';
import { useApis } from '../useApis.ts';
import { type Asked, askedKeys, isFiltered, KeyFilters, loadKeys } from './keyFilters.tsx';
import { KeyState } from './keyState.tsx';

export function Keys() {
  const asked = askedKeys();
  const apis = useApis(asked.api);
  const api = asked.api || (apis.value?.[0]?.id ?? '');
  // A customer and a plan can have keys in several apis.
  const isOverAll = asked.api === '' && asked.customer + asked.plan !== '';
  return (
    <>
      <div class="row">
        <h1>Keys</h1>
        {may('api.create_key') && (
          <a class="button primary" href={hrefOf(`/keys/new${api === '' ? '' : `?api=${api}`}`)}>
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
              <KeyFilters asked={isOverAll ? asked : { ...asked, api }} apis={known} />
              {isOverAll ? (
                known.map(({ id, name }) => <KeysOfApi key={id} asked={{ ...asked, api: id }} name={name} />)
              ) : (
                <KeyTable asked={{ ...asked, api }} />
              )}
            </>
          )
        }
      </Showing>
    </>
  );
}

/** The keys of one api among those of all. */
function KeysOfApi({ asked, name }: { readonly asked: Asked; readonly name: string }) {
  return (
    <section>
      <h2>
        <bdi>{name}</bdi>
      </h2>
      <KeyTable asked={asked} caption={`Keys of ${name}`} />
    </section>
  );
}

function KeyTable({ asked, caption = 'Keys' }: { readonly asked: Asked; readonly caption?: string }) {
  return (
    <PagedTable<Key>
      caption={caption}
      on={[asked]}
      keyOf={({ id }) => id}
      empty={isFiltered(asked) ? 'No keys match.' : 'This api has no keys yet.'}
      load={(cursor) => loadKeys(asked, cursor)}
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
  );
}
