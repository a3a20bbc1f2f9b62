import { outcomeSeries } from '../../outcomes.ts';
import { Legend, StackedChart } from '../../ui/chart.tsx';
import { Count, Empty, Facts, percent, Showing } from '../../ui/show.tsx';
import type { Loaded } from '../../ui/useLoaded.ts';
import type { Counts } from './loadCounts.ts';
import { type Range, RANGES } from './ranges.ts';

/** Verifications by outcome in a period, as they happen. */
export function Verifications({
  counts,
  range,
  setRange,
}: {
  readonly counts: Loaded<Counts>;
  readonly range: Range;
  readonly setRange: (range: Range) => void;
}) {
  return (
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
      <Showing loaded={counts}>{(value) => <Chart counts={value} range={range} />}</Showing>
    </section>
  );
}

function Chart({ counts: { rows, apis, apiCount }, range }: { readonly counts: Counts; readonly range: Range }) {
  const sum = (of: (row: Counts['rows'][number]) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const total = sum((row) => row.total);
  const series = outcomeSeries(rows);
  return (
    <>
      <Facts
        rows={[
          ['Verifications', <Count of={total} />],
          ['Success rate', total === 0 ? '–' : percent(sum((row) => row.valid) / total)],
          ['Credits spent', <Count of={sum((row) => row.credits)} />],
          ['Apis', apis.length < apiCount ? `the first ${apis.length} of ${apiCount}` : <Count of={apiCount} />],
        ]}
      />
      {rows.length === 0 ? (
        <Empty>There are no apis yet, so there are no keys to verify.</Empty>
      ) : (
        <>
          <Legend series={series} />
          <StackedChart
            label={`Verifications, ${range.label.toLowerCase()}`}
            times={rows.map(({ time }) => time ?? 0)}
            series={series}
          />
        </>
      )}
    </>
  );
}
