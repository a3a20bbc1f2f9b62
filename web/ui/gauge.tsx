import { duration } from './show.tsx';
import { useNow } from './useNow.ts';

export interface UsedLimit {
  readonly name: string;
  readonly limit: number;
  readonly duration: number;
  readonly async: boolean;
  readonly used: number;
  readonly reset: number;
}

const NUMBER = new Intl.NumberFormat();
const WIDTH = 100;

/** How much of each limit was used, and how long until it resets. */
export function LimitGauges({ limits }: { readonly limits: readonly UsedLimit[] }) {
  if (limits.length === 0) return null;
  return (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <ul class="gauges">
        {limits.map((limit) => (
          <li key={limit.name}>
            <LimitGauge of={limit} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The upper bar is what was used. The lower one is the time that is left: it runs down to the reset. */
function LimitGauge({ of: { name, limit, duration: windowMs, async, used, reset } }: { readonly of: UsedLimit }) {
  const leftMs = Math.min(Math.max(reset - useNow(), 0), windowMs);
  // After the reset nothing is used, until the page has read the count again.
  const count = leftMs === 0 ? 0 : used;
  const level = count >= limit ? 'full' : count >= limit * 0.8 ? 'high' : 'low';
  const words = `${NUMBER.format(count)} of ${NUMBER.format(limit)}`;
  return (
    <>
      <p>
        <strong>
          <bdi>{name}</bdi>
        </strong>{' '}
        <span class="number">{words}</span> in {duration(windowMs)} ({async ? 'local' : 'strict'})
      </p>
      <svg
        class={`gauge ${level}`}
        viewBox={`0 0 ${WIDTH} 10`}
        preserveAspectRatio="none"
        role="meter"
        aria-label={`Used of the limit ${name}`}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(count, limit)}
        aria-valuetext={words}
      >
        <rect class="whole" x="0" y="0" width={WIDTH} height="6" />
        <rect class="used" x="0" y="0" width={WIDTH * Math.min(count / limit, 1)} height="6" />
        <rect class="left" x="0" y="8" width={(WIDTH * leftMs) / windowMs} height="2" />
      </svg>
      <p class="hint" title={new Date(reset).toISOString()}>
        {leftMs === 0 ? 'Starts with the next use' : `Resets in ${clock(leftMs)}`}
      </p>
    </>
  );
}

/** "45 s", "4:05", "3:04:05" or "2 d 3 h". */
function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (seconds < 60) return `${seconds} s`;
  const two = (part: number): string => String(part).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
