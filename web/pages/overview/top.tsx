import type { VerificationCounts } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { nowMs } from '../../clock.ts';
import { listKeys } from '../../paged.ts';
import { customerPath, hrefOf, toPart } from '../../router.ts';
import { Count, Empty, percent, Showing } from '../../ui/show.tsx';
import { Table } from '../../ui/table.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import type { CountedApi } from './loadCounts.ts';
import type { Range } from './ranges.ts';

const SHOWN = 5;
const READ = 100;
const MINUTE_MS = 60_000;
const EVERY_MS = 30_000;
const IDLE = 'There were no verifications in this period.';

type CountsOfApi = VerificationCounts & { readonly apiId: string };

interface TopRow {
  readonly href: string;
  readonly name: string;
  readonly total: number;
  readonly valid: number | null;
}

/** The customers, keys and apis that were verified most in the period. */
export function Top({ range, apis }: { readonly range: Range; readonly apis: readonly CountedApi[] | null }) {
  const busy = (apis ?? []).filter(({ total }) => total > 0);
  const busyIds = busy.map(({ id }) => id).toSorted();
  const top = useLoaded(
    async () => {
      const [customers, keys] = await Promise.all([topOf(busyIds, range, 'identity'), topOf(busyIds, range, 'key')]);
      const keyRows = await Promise.all(
        keys
          .filter(({ keyId }) => keyId !== undefined)
          .slice(0, SHOWN)
          .map(keyRow),
      );
      return { customers: customers.flatMap(customerRow), keys: keyRows };
    },
    [range.label, busyIds.join()],
    EVERY_MS,
  );
  if (apis === null) return null;
  const isIdle = busy.length === 0;
  const apiRows = busy
    .toSorted((a, b) => b.total - a.total)
    .map(({ id, name, total }) => ({ href: `/keys?api=${id}`, name, total, valid: null }));
  return (
    <div class="columns thirds">
      <Showing loaded={top}>
        {({ customers, keys }) => (
          <>
            <TopTable
              title="Top customers"
              rows={customers}
              all="/customers"
              none={isIdle ? IDLE : 'The keys that were verified have no customer.'}
            />
            <TopTable
              title="Top keys"
              rows={keys}
              all="/keys"
              none={isIdle ? IDLE : 'Only unknown keys were verified.'}
            />
          </>
        )}
      </Showing>
      <TopTable title="Top apis" rows={apiRows} all="/apis" none={IDLE} />
    </div>
  );
}

/** Each api answers its own largest. A customer can have keys in several apis, so more are read than are shown. */
async function topOf(apiIds: readonly string[], { lengthMs }: Range, groupBy: 'identity' | 'key') {
  // By the minute: dashboards that ask the same share an answer.
  const start = Math.floor((nowMs() - lengthMs) / MINUTE_MS) * MINUTE_MS;
  const perApi = await Promise.all(
    apiIds.map(async (apiId) => {
      const rows = await keystile.analytics.getVerifications({ apiId, groupBy, start, limit: READ });
      return rows.map((row) => ({ ...row, apiId }));
    }),
  );
  const sums = new Map<string, CountsOfApi>();
  for (const row of perApi.flat()) {
    const id = row.keyId ?? row.identity?.id ?? '';
    const before = sums.get(id);
    sums.set(
      id,
      before === undefined ? row : { ...row, total: before.total + row.total, valid: before.valid + row.valid },
    );
  }
  return [...sums.values()].toSorted((a, b) => b.total - a.total);
}

function customerRow({ identity, total, valid }: VerificationCounts): TopRow[] {
  // Keys without a customer are no customer; neither is one that was deleted.
  if (identity === undefined || identity.externalId === '') return [];
  return [{ href: customerPath(identity.externalId), name: identity.externalId, total, valid }];
}

function mayList(apiId: string): boolean {
  return may('api.read_key', apiId) && may('api.read_api', apiId);
}

/** By its name, where the key is still there and may be read. */
async function keyRow({ apiId, keyId = '', total, valid }: CountsOfApi): Promise<TopRow> {
  // A search finds nothing where the key was deleted. To ask for it would be an error. Without an answer, the id is shown.
  const search = mayList(apiId) ? listKeys({ apiId, search: keyId, limit: 1 }).catch(() => null) : null;
  const found = (await search)?.keys[0];
  return {
    href: `/keys/${toPart(keyId)}`,
    name: (found?.id === keyId ? found.name : undefined) ?? keyId,
    total,
    valid,
  };
}

function TopTable({
  title,
  rows,
  all,
  none,
}: {
  readonly title: string;
  readonly rows: readonly TopRow[];
  readonly all: string;
  /** What is said when there are no rows. */
  readonly none: string;
}) {
  return (
    <section>
      <h2>
        <a href={hrefOf(all)}>{title}</a>
      </h2>
      {rows.length === 0 ? (
        <Empty>{none}</Empty>
      ) : (
        <Table<TopRow>
          caption={title}
          isNarrow
          rows={rows.slice(0, SHOWN)}
          keyOf={({ href }) => href}
          columns={[
            {
              title: 'Name',
              cell: ({ href, name }) => (
                <a href={hrefOf(href)}>
                  <bdi>{name}</bdi>
                </a>
              ),
            },
            { title: 'Verifications', isNumber: true, cell: ({ total }) => <Count of={total} /> },
            ...(rows.some(({ valid }) => valid !== null)
              ? [
                  {
                    title: 'Valid',
                    isNumber: true as const,
                    cell: ({ valid, total }: TopRow) => valid !== null && percent(valid / total),
                  },
                ]
              : []),
          ]}
        />
      )}
    </section>
  );
}
