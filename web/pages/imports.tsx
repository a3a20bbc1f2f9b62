import type { AuditEntry } from '../../sdk/src/generated/api.ts';
import { keystile, may } from '../client.ts';
import { listEntries } from '../paged.ts';
import { goTo, hrefOf, query } from '../router.ts';
import { SearchField } from '../ui/search.tsx';
import { Ago, Badge, Count, Empty, Facts, Showing } from '../ui/show.tsx';
import { PagedTable, Table } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { from } from './pageOf.ts';

const pathOf = (migration: string): string => `/imports?${new URLSearchParams({ migration })}`;

/** While an import runs. */
const EVERY_MS = 1_000;

/** How far imports are. The queue itself has no list: the audit log knows what was queued. */
export function Imports() {
  const migrationId = query.value.get('migration') ?? '';
  return (
    <>
      <h1>Imports</h1>
      <p>
        Keys that were made elsewhere are queued and then created in the background.{' '}
        <a href="/docs/guides/imports">See how to import keys</a>.
      </p>
      <div class="filters">
        <SearchField
          key={migrationId}
          label="Import"
          value={migrationId}
          hint="The migrationId that the keys were queued with."
          onSearch={(text) => goTo(text === '' ? '/imports' : pathOf(text), 'replace')}
        />
      </div>
      {migrationId !== '' && <Progress key={migrationId} migrationId={migrationId} />}
      {may('root.read_audit') ? (
        <Queued />
      ) : (
        migrationId === '' && (
          <Empty>Enter an import id to see its progress. Listing imports needs the right to read the audit log.</Empty>
        )
      )}
    </>
  );
}

function Progress({ migrationId }: { readonly migrationId: string }) {
  const progress = useLoaded(
    () => keystile.migrations.getProgress({ migrationId }),
    [migrationId],
    (loaded) => (loaded !== null && isFinished(loaded) ? 0 : EVERY_MS),
  );
  return (
    <section aria-labelledby="progress">
      <h2 id="progress">
        <bdi>{migrationId}</bdi>
      </h2>
      <Showing loaded={progress}>
        {({ queued, done, failed, errors }) => (
          <>
            <p>
              <progress max={Math.max(queued, 1)} value={done + failed} aria-label={`Progress of ${migrationId}`} />{' '}
              <ProgressState of={{ queued, done, failed }} />
            </p>
            <Facts
              rows={[
                ['Queued', <Count of={queued} />],
                ['Created', <Count of={done} />],
                ['Failed', <Count of={failed} />],
              ]}
            />
            {errors.length > 0 && (
              <Table
                caption={errors.length < failed ? `The first ${errors.length} failures` : 'Failures'}
                rows={errors}
                keyOf={({ index }) => String(index)}
                columns={[
                  { title: 'Place in the import', isNumber: true, cell: ({ index }) => <Count of={index + 1} /> },
                  { title: 'Why it failed', cell: ({ message }) => <bdi>{message}</bdi> },
                ]}
              />
            )}
          </>
        )}
      </Showing>
    </section>
  );
}

interface Counts {
  readonly queued: number;
  readonly done: number;
  readonly failed: number;
}

const isFinished = ({ queued, done, failed }: Counts): boolean => done + failed >= queued;

function ProgressState({ of: counts }: { readonly of: Counts }) {
  if (!isFinished(counts)) return <Badge kind="plain">Running</Badge>;
  return counts.failed > 0 ? <Badge kind="bad">Finished, some failed</Badge> : <Badge kind="good">Finished</Badge>;
}

function Queued() {
  return (
    <section aria-labelledby="queued">
      <h2 id="queued">Recently queued</h2>
      <PagedTable<AuditEntry>
        caption="Calls that have queued keys"
        on={[]}
        keyOf={({ id }) => id}
        empty="No keys have been queued yet."
        load={async (cursor) => {
          const { entries, ...page } = await listEntries({ action: 'migration.enqueue', ...from(cursor) });
          return { rows: entries, ...page };
        }}
        columns={[
          {
            title: 'Import',
            cell: ({ target }) => (
              <a href={hrefOf(pathOf(target))}>
                <bdi>{target}</bdi>
              </a>
            ),
          },
          {
            title: 'Keys',
            isNumber: true,
            cell: ({ after }) => <Count of={(after as { keys?: number } | undefined)?.keys ?? 0} />,
          },
          { title: 'By', cell: ({ actor }) => <code>{actor}</code> },
          { title: 'Queued', cell: ({ time }) => <Ago at={time} /> },
        ]}
      />
    </section>
  );
}
