import { useState } from 'preact/hooks';

import type { AuditEntry } from '../../sdk/src/generated/api.ts';
import { describeLongValue } from '../../src/basics/longValue.ts';
import { may } from '../client.ts';
import { listEntries } from '../paged.ts';
import { Time } from '../ui/show.tsx';
import { type Column, PagedTable } from '../ui/table.tsx';
import { from } from './pageOf.ts';

export function Audit() {
  return (
    <>
      <h1>Audit log</h1>
      <Changes />
    </>
  );
}

/** Every change, or those of one record. */
export function Changes({ target }: { readonly target?: string }) {
  return (
    <PagedTable<AuditEntry>
      caption="Changes"
      on={[target]}
      keyOf={({ id }) => id}
      empty="Nothing has been changed yet."
      load={async (cursor) => {
        const { entries, ...page } = await listEntries({ ...from(cursor), target });
        return { rows: entries, ...page };
      }}
      columns={[
        { title: 'When', cell: ({ time }) => <Time at={time} /> },
        { title: 'Who', cell: ({ actor, via }) => `${actor}${via === undefined ? '' : ` (${via})`}` },
        { title: 'What', cell: ({ action }) => action },
        ...(target === undefined ? [RECORD] : []),
        { title: 'Changes', cell: (entry) => <Difference of={entry} /> },
      ]}
    />
  );
}

const RECORD: Column<AuditEntry> = { title: 'Record', cell: ({ target }) => <code>{target}</code> };

/** The changes of one record, read when they are opened. */
export function ChangesOf({ target }: { readonly target: string }) {
  const [isOpen, setOpen] = useState(false);
  if (!may('root.read_audit')) return null;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Changes</summary>
      {isOpen && <Changes target={target} />}
    </details>
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
                {valueText((before as Record<string, unknown>)[name])}
              </dd>
            )}
            {name in after && (
              <dd class="added">
                <span class="hidden">after: </span>
                {valueText((after as Record<string, unknown>)[name])}
              </dd>
            )}
          </div>
        ))}
      </dl>
    </details>
  );
}

/** Of a long value the log keeps only how long it was, and its digest. */
function valueText(value: unknown): string {
  return describeLongValue(value) ?? JSON.stringify(value);
}
