import { outcomeSeries } from '../outcomes.ts';
import { Legend, StackedChart } from '../ui/chart.tsx';
import { Count, Showing } from '../ui/show.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { call } from './portalClient.ts';

const EVERY_MS = 5_000;

/** Verifications of the customer's keys in the last 30 days. */
export function Usage() {
  const usage = useLoaded(() => call('getUsage'), [], EVERY_MS);
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">Your usage in the last 30 days</h2>
      <Showing loaded={usage}>
        {({ days }) => {
          const series = outcomeSeries(days);
          const credits = days.reduce((sum, day) => sum + day.credits, 0);
          return (
            <>
              <StackedChart label="Requests by day" times={days.map(({ time }) => time)} series={series} />
              <Legend series={series} />
              {credits > 0 && (
                <p>
                  <Count of={credits} /> credits used.
                </p>
              )}
            </>
          );
        }}
      </Showing>
    </section>
  );
}
