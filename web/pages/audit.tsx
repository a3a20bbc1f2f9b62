import type { AuditEntry } from '../../sdk/src/generated/api.ts';
import { listEntries } from '../paged.ts';
import { Time } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { from } from './pageOf.ts';

export function Audit() {
  return (
    <>
      <h1>Audit log</h1>
      <PagedTable<AuditEntry>
        caption="Changes"
        on={[]}
        keyOf={({ id }) => id}
        empty="Nothing has been changed yet."
        load={async (cursor) => {
          const { entries, ...page } = await listEntries(from(cursor));
          return { rows: entries, ...page };
        }}
        columns={[
          { title: 'When', cell: ({ time }) => <Time at={time} /> },
          { title: 'Who', cell: ({ actor, via }) => `${actor}${via === undefined ? '' : ` (${via})`}` },
          { title: 'What', cell: ({ action }) => action },
          { title: 'Record', cell: ({ target }) => <code>{target}</code> },
          { title: 'Changes', cell: (entry) => <Difference of={entry} /> },
        ]}
      />
    </>
  );
}

function Difference({ of: { before = {}, after = {} } }: { readonly of: AuditEntry }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (names.length === 0) return null;
  return (
    <details>
      <summary>{names.slice(0, 3).join(', ') + (names.length > 3 ? ' …' : '')}</summary>
      <dl class="difference">
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            {name in before && (
              <dd class="removed">
                <span class="hidden">before: </span>
                {JSON.stringify((before as Record<string, unknown>)[name])}
              </dd>
            )}
            {name in after && (
              <dd class="added">
                <span class="hidden">after: </span>
                {JSON.stringify((after as Record<string, unknown>)[name])}
              </dd>
            )}
          </div>
        ))}
      </dl>
    </details>
  );
}
