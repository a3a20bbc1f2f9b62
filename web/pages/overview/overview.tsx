import { useState } from 'preact/hooks';

import { may } from '../../client.ts';
import { useLoaded } from '../../ui/useLoaded.ts';
import { FirstSteps } from './firstSteps.tsx';
import { loadCounts, RecentApis } from './loadCounts.ts';
import { type Range, RANGES } from './ranges.ts';
import { RunningOut } from './runningOut.tsx';
import { ServiceState } from './serviceState.tsx';
import { Top } from './top.tsx';
import { Verifications } from './verifications.tsx';

/** Each api is a request. With many of them the page asks less often, so that an open page costs the service as little. */
const MS_PER_API = 1_000;

export function Overview() {
  const [range, setRange] = useState<Range>(RANGES[0]);
  const [recentApis] = useState(() => new RecentApis());
  const [apiCount, setApiCount] = useState(0);
  const counts = useLoaded(
    async () => {
      const loaded = await loadCounts(range, recentApis);
      setApiCount(loaded.apis.length);
      return loaded;
    },
    [range.label],
    Math.max(range.everyMs, apiCount * MS_PER_API),
  );
  return (
    <>
      <h1>Overview</h1>
      <ServiceState />
      <FirstSteps />
      <Verifications counts={counts} range={range} setRange={setRange} />
      <Top range={range} apis={counts.value?.apis ?? null} />
      {may('event.read_event') && <RunningOut />}
    </>
  );
}
