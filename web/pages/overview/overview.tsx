import { useState } from 'preact/hooks';

import { keystile } from '../client.ts';
import { outcomeSeries } from '../outcomes.ts';
import { listApis, listKeys } from '../paged.ts';
import { hrefOf } from '../router.ts';
import { Legend, StackedChart } from '../ui/chart.tsx';
import { Badge, Copyable, Count, Facts, Showing } from '../ui/show.tsx';
import { useLoaded } from '../ui/useLoaded.ts';

const RANGES = [
  { label: 'Last hour', group: 'minute', everyMs: 2_000 },
  { label: 'Last day', group: 'hour', everyMs: 10_000 },
  { label: 'Last 30 days', group: 'day', everyMs: 60_000 },
] as const;

/** Apis that the overview adds up. */
const MAX_APIS = 20;

type Range = (typeof RANGES)[number];

/** Without a start, the service answers for the last 60 minutes, 24 hours or 30 days by its own clock. */
async function loadCounts({ group }: Range) {
  const { apis, total: apiCount } = await listApis({ limit: MAX_APIS });
  const perApi = await Promise.all(
    apis.map(async ({ id: apiId }) => keystile.analytics.getVerifications({ apiId, groupBy: group })),
  );
  const sums = new Map<number, (typeof perApi)[number][number]>();
  for (const row of perApi.flat()) {
    const time = row.time ?? 0;
    const before = sums.get(time);
    sums.set(time, before === undefined ? row : addUp(before, row));
  }
  const rows = [...sums.values()].toSorted((a, b) => (a.time ?? 0) - (b.time ?? 0));
  return { apis, apiCount, rows };
}

function addUp<Row extends object>(one: Row, other: Row): Row {
  const sum = Object.entries(one as Record<string, unknown>).map(([name, value]) => {
    const more: unknown = (other as Record<string, unknown>)[name];
    return [name, name !== 'time' && typeof value === 'number' && typeof more === 'number' ? value + more : value];
  });
  return Object.fromEntries(sum) as Row;
}

export function Overview() {
  const [range, setRange] = useState<Range>(RANGES[0]);
  const counts = useLoaded(() => loadCounts(range), [range.label], range.everyMs);
  return (
    <>
      <h1>Overview</h1>
      <Health />
      <section aria-labelledby="verifications">
        <div class="row">
          <h2 id="verifications">Verifications</h2>
          <div class="choices" role="group" aria-label="Period">
            {RANGES.map((each) => (
              <button key={each.label} type="button" aria-pressed={each === range} onClick={() => setRange(each)}>
                {each.label}
              </button>
            ))}
          </div>
        </div>
        <Showing loaded={counts}>
          {({ rows, apis, apiCount }) => {
            const total = rows.reduce((sum, row) => sum + row.total, 0);
            const valid = rows.reduce((sum, row) => sum + row.valid, 0);
            const credits = rows.reduce((sum, row) => sum + row.credits, 0);
            const series = outcomeSeries(rows);
            return (
              <>
                <Facts
                  rows={[
                    ['Verifications', <Count of={total} />],
                    ['Valid', total === 0 ? '–' : `${((100 * valid) / total).toFixed(1)} %`],
                    ['Credits spent', <Count of={credits} />],
                    [
                      'Apis',
                      apis.length < apiCount ? `the first ${apis.length} of ${apiCount}` : <Count of={apiCount} />,
                    ],
                  ]}
                />
                <Legend series={series} />
                <StackedChart
                  label={`Verifications, ${range.label.toLowerCase()}`}
                  times={rows.map(({ time }) => time ?? 0)}
                  series={series}
                />
                <FirstSteps hasApi={apis.length > 0} hasVerified={total > 0} />
              </>
            );
          }}
        </Showing>
      </section>
    </>
  );
}

function Health() {
  const ready = useLoaded(
    async () => {
      const answer = await fetch('/v1/readiness').catch(() => null);
      if (answer === null) throw new Error('This node does not answer. Is it running?');
      return (await answer.json()) as { ready: boolean; reasons: string[]; warnings: string[] };
    },
    [],
    10_000,
  );
  return (
    <Showing loaded={ready}>
      {({ ready: isReady, reasons, warnings }) => (
        <p>
          <Badge kind={isReady ? 'good' : 'bad'}>{isReady ? 'Ready' : 'Not ready'}</Badge>{' '}
          {[...reasons, ...warnings].join(' ')}
        </p>
      )}
    </Showing>
  );
}

/** Ticks itself off. */
function FirstSteps({ hasApi, hasVerified }: { readonly hasApi: boolean; readonly hasVerified: boolean }) {
  const keys = useLoaded(async () => {
    const { apis } = await listApis({ limit: 1 });
    const [api] = apis;
    return api === undefined ? 0 : (await listKeys({ apiId: api.id, limit: 1 })).total;
  }, [hasApi, hasVerified]);
  const hasKey = (keys.value ?? 0) > 0;
  if (hasApi && hasKey && hasVerified) return null;
  const steps = [
    [hasApi, <a href={hrefOf('/apis')}>Create an api</a>],
    [hasKey, <a href={hrefOf('/keys/new')}>Create a key</a>],
    [
      hasVerified,
      <>
        Verify it:{' '}
        <Copyable
          label="the command"
          text={`curl ${location.origin}/v1/keys.verifyKey -H 'Content-Type: application/json' -d '{"key":"YOUR_KEY"}'`}
        />
      </>,
    ],
    [
      false,
      <>
        Protect a route: see <a href="/docs/guides/sdk">the guide of the SDK</a>
      </>,
    ],
  ] as const;
  return (
    <section class="steps" aria-labelledby="steps">
      <h2 id="steps">First steps</h2>
      <ol>
        {steps.map(([isDone, text], i) => (
          <li key={i} class={isDone ? 'done' : undefined}>
            <span aria-hidden="true">{isDone ? '✓' : '○'}</span>{' '}
            <span class="hidden">{isDone ? 'Done:' : 'To do:'}</span> {text}
          </li>
        ))}
      </ol>
    </section>
  );
}
