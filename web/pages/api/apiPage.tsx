import type { Api, SharedRatelimit } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { goTo, hrefOf } from '../../router.ts';
import { type EditedField, EditForm } from '../../ui/edit/editForm.tsx';
import { limitsField, limitsOf } from '../../ui/edit/counterFields.tsx';
import { flagField, lineField, numberField } from '../../ui/edit/fields.tsx';
import { DeleteButton, DialogButton } from '../../ui/form.tsx';
import { Copyable, Count, duration, Facts, Showing } from '../../ui/show.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import { ChangesOf } from '../audit.tsx';

export function ApiPage({ id: apiId }: { readonly id: string }) {
  const api = useLoaded(() => keystile.apis.get({ apiId }), [apiId], 10_000);
  return (
    <Showing loaded={api}>
      {(value) => (
        <>
          <div class="row">
            <h1>
              <bdi>{value.name}</bdi>
            </h1>
            <ApiActions of={value} reload={api.reload} />
          </div>
          <Facts
            rows={[
              ['Id', <Copyable label="the id" text={value.id} />],
              ['Prefix of new keys', value.defaultPrefix !== undefined && <code>{value.defaultPrefix}_</code>],
              ['Random bytes of new keys', value.defaultByteLength ?? 16],
              [
                'Limit of new keys',
                value.defaultRatelimit !== undefined && <DefaultLimit of={value.defaultRatelimit} />,
              ],
              ['Protected from deletion', value.deleteProtection ? 'yes' : 'no'],
            ]}
          />
          <p>
            <a href={hrefOf(`/keys?api=${apiId}`)}>Show its keys</a>
          </p>
          <ChangesOf target={apiId} />
        </>
      )}
    </Showing>
  );
}

function DefaultLimit({ of: { limit, duration: ms, async } }: { readonly of: NonNullable<Api['defaultRatelimit']> }) {
  return (
    <>
      <Count of={limit} /> in {duration(ms)} ({async ? 'local' : 'strict'})
    </>
  );
}

/** The limit that new keys get has no name of its own. */
const NEW_KEYS = 'default';

const DEFAULT_LIMIT: EditedField<Api> = {
  ...limitsField(
    { name: 'defaultRatelimit', label: 'Limit of new keys (at most one)' },
    ({ defaultRatelimit: limit }): readonly SharedRatelimit[] =>
      limit === undefined ? [] : [{ ...limit, name: NEW_KEYS }],
  ),
  toPatch(text) {
    const [limit, second] = limitsOf(text);
    if (second !== undefined) throw new Error('New keys of an api can get one limit. Remove the others.');
    if (limit === undefined) return { defaultRatelimit: null };
    const { limit: requests, duration: ms, async } = limit;
    return { defaultRatelimit: { limit: requests, duration: ms, async } };
  },
};

const FIELDS: readonly EditedField<Api>[] = [
  lineField({ name: 'name', label: 'Name', required: true }, ({ name }) => name),
  lineField(
    {
      name: 'defaultPrefix',
      label: 'Prefix of new keys',
      hint: '"acme" makes keys that start with acme_. Leave empty for none.',
    },
    ({ defaultPrefix }) => defaultPrefix,
  ),
  numberField(
    {
      name: 'defaultByteLength',
      label: 'Random bytes of new keys',
      hint: 'From 16 to 255. Leave empty for 16.',
      min: 16,
    },
    ({ defaultByteLength }) => defaultByteLength,
  ),
  DEFAULT_LIMIT,
  flagField(
    { name: 'deleteProtection', label: 'Deletion', words: ['refused', 'allowed'] },
    ({ deleteProtection }) => deleteProtection,
  ),
];

function ApiActions({ of: api, reload }: { readonly of: Api; readonly reload: () => void }) {
  const { id: apiId } = api;
  return (
    <div class="actions">
      {may('api.update_api', apiId) && (
        <DialogButton label="Edit" title="Edit the api">
          {(close) => (
            <EditForm
              record={api}
              read={() => keystile.apis.get({ apiId })}
              fields={FIELDS}
              onSend={async (patch) => {
                await keystile.apis.update({ apiId, ...patch });
                close();
                reload();
              }}
            />
          )}
        </DialogButton>
      )}
      {may('api.delete_api', apiId) && (
        <DeleteButton
          label="Delete the api"
          name={api.name}
          explains="Deletes the api with all its keys."
          onDelete={async () => {
            await keystile.apis.delete({ apiId });
            goTo('/apis');
          }}
        />
      )}
    </div>
  );
}
