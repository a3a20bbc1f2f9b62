import type { Override } from '../../sdk/src/generated/api.ts';
import { keystile, may } from '../client.ts';
import { listOverrides } from '../paged.ts';
import { goTo, query } from '../router.ts';
import { DeleteButton, DialogButton, Form, numberOf, SelectField, textOf, TextField } from '../ui/form.tsx';
import { type EditedField, EditForm } from '../ui/edit/editForm.tsx';
import { flagField, numberField } from '../ui/edit/fields.tsx';
import { MODES } from '../ui/edit/limitsInput.tsx';
import { SearchField } from '../ui/search.tsx';
import { Count, duration, Empty } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { useState } from 'preact/hooks';
import { from } from './pageOf.ts';

/** Overrides of standalone limits, by namespace. */
export function Limits() {
  const namespaceName = query.value.get('namespace') ?? '';
  const [changes, setChanges] = useState(0);
  const reload = (): void => setChanges(changes + 1);
  return (
    <>
      <div class="row">
        <h1>Standalone limits</h1>
        {namespaceName !== '' && may('ratelimit.set_override') && (
          <DialogButton label="Set an override" title={`Set an override in ${namespaceName}`} kind="primary">
            {(close) => (
              <Form
                button="Set"
                onSend={async (data) => {
                  await keystile.ratelimits.setOverride({
                    namespaceName,
                    identifier: textOf(data, 'identifier') ?? '',
                    limit: numberOf(data, 'limit') ?? 0,
                    duration: (numberOf(data, 'seconds') ?? 60) * 1000,
                    async: data.get('mode') !== 'strict',
                  });
                  close();
                  reload();
                }}
              >
                <TextField label="Identifier" name="identifier" required hint="What is limited, or a pattern with *." />
                <TextField label="Requests" name="limit" type="number" min={0} required />
                <TextField label="in seconds" name="seconds" type="number" min={1} defaultValue="60" />
                <SelectField label="Mode" name="mode" options={MODES} />
              </Form>
            )}
          </DialogButton>
        )}
      </div>
      <p>
        Rate limits that need no key. An override replaces the numbers in requests, for some identifiers of a namespace.
      </p>
      <div class="filters">
        <SearchField
          label="Namespace"
          value={namespaceName}
          onSearch={(namespace) => goTo(`/limits?${new URLSearchParams({ namespace })}`, 'replace')}
        />
      </div>
      {namespaceName === '' ? (
        <Empty>Enter a namespace to see its overrides.</Empty>
      ) : (
        <PagedTable<Override>
          caption="Overrides"
          on={[namespaceName, changes]}
          keyOf={({ id }) => id}
          empty="This namespace has no overrides."
          load={async (cursor) => {
            const { overrides, ...page } = await listOverrides({ namespaceName, ...from(cursor) });
            return { rows: overrides, ...page };
          }}
          columns={[
            { title: 'Identifier', cell: ({ identifier }) => <bdi>{identifier}</bdi> },
            { title: 'Requests', isNumber: true, cell: ({ limit }) => <Count of={limit} /> },
            { title: 'In', cell: ({ duration: ms }) => duration(ms) },
            { title: 'Mode', cell: ({ async }) => (async ? 'local' : 'strict') },
            {
              title: 'Change',
              cell: (override) => <OverrideActions of={override} reload={reload} />,
            },
          ]}
        />
      )}
    </>
  );
}

const FIELDS: readonly EditedField<Override>[] = [
  numberField({ name: 'limit', label: 'Requests', hint: '0 blocks every call.', required: true }, ({ limit }) => limit),
  {
    ...numberField<Override>(
      { name: 'duration', label: 'in seconds', min: 1, required: true },
      ({ duration: ms }) => ms / 1000,
    ),
    toPatch: (text) => ({ duration: Math.round(Number(text) * 1000) }),
  },
  flagField({ name: 'async', label: 'Mode', words: [MODES[0][1], MODES[1][1]] }, ({ async }) => async),
];

function OverrideActions({ of: override, reload }: { readonly of: Override; readonly reload: () => void }) {
  const { namespaceId, identifier } = override;
  return (
    <div class="actions">
      {may('ratelimit.set_override', namespaceId) && (
        <DialogButton label="Edit" title="Edit the override">
          {(close) => (
            <EditForm<Override>
              record={override}
              read={() => keystile.ratelimits.getOverride({ namespaceId, identifier })}
              fields={FIELDS}
              onSend={async (patch, { limit, duration: ms, async }) => {
                await keystile.ratelimits.setOverride({
                  namespaceId,
                  identifier,
                  limit,
                  duration: ms,
                  async,
                  ...patch,
                });
                close();
                reload();
              }}
            />
          )}
        </DialogButton>
      )}
      {may('ratelimit.delete_override', namespaceId) && (
        <DeleteButton
          label="Delete"
          name={identifier}
          explains="The numbers in each request apply to the identifier again."
          onDelete={async () => {
            await keystile.ratelimits.deleteOverride({ namespaceId, identifier });
            reload();
          }}
        />
      )}
    </div>
  );
}
