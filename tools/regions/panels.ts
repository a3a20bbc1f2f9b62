import { KINDS, type RegionLatency } from './latency.ts';
import type { Level } from './overshoot.ts';
import type { Path } from './paths.ts';
import { REVOKED_WITHIN_MS, type Results } from './promises.ts';
import { greatest, percentile, sum } from './statistics.ts';
import { STRICT_LIMIT, type StrictResult } from './strict.ts';
import { axes, dots, element, type Frame, line, linear, logarithmic, text } from './svg.ts';
import { percentOver } from './table.ts';

/** The four plots. Each region has the style `r0`, `r1` or `r2` in all of them. */

/** Lines from p50 to p99, for each kind of request and each region. */
export function latencyPanel(frame: Frame, regions: readonly RegionLatency[]): string {
  const { left, top, width, height } = frame;
  const slowest = greatest(regions.map(({ strict }) => strict.p99Ms));
  const decades = [0.1, 1, 10, 100, 1_000, 10_000];
  const end = decades.find((value) => value >= slowest) ?? 10_000;
  const x = logarithmic(0.05, end, left, left + width);
  const row = height / KINDS.length;
  const y = (kind: number): number => top + row * (kind + 0.5);
  const ticks = decades.filter((at) => at <= end).map((at) => ({ at, label: String(at) }));
  const marks = KINDS.flatMap((kind, i) =>
    regions.map(({ [kind]: { p50Ms, p99Ms } }, region) => {
      const at = y(i) + (region - 1) * (row / 4);
      const [from, to] = [x(p50Ms), x(p99Ms)];
      return (
        line(from, at, to, at, `range r${region}`) +
        dots([[from, at]], 5, `filled r${region}`) +
        dots([[to, at]], 4, `hollow r${region}`)
      );
    }),
  );
  const labels = KINDS.map((kind, i) => ({ at: i, label: kind }));
  return (
    axes(
      frame,
      { title: 'milliseconds (log): ● p50, ○ p99', ticks, place: x },
      { title: '', ticks: labels, place: y },
    ) + marks.join('')
  );
}

/** The admitted requests of each region in each window. */
export function strictPanel(frame: Frame, { full }: StrictResult): string {
  const { left, top, width, height } = frame;
  const most = Math.max(STRICT_LIMIT, ...full.map(({ admitted }) => sum(admitted)));
  const y = linear(0, most * 1.2, top + height, top);
  const x = linear(0.5, full.length + 0.5, left, left + width);
  const step = Math.ceil(full.length / 12);
  const xTicks = full.map((_, i) => ({ at: i + 1, label: i % step === 0 ? String(i + 1) : '' }));
  const bar = (width / Math.max(1, full.length)) * 0.7;
  const bars = full.flatMap(({ admitted }, i) => {
    let below = 0;
    return admitted.map((count, region) => {
      const [from, to] = [y(below), y((below += count))];
      return element('rect', {
        x: x(i + 1) - bar / 2,
        y: to,
        width: bar,
        height: from - to,
        class: `filled r${region}`,
      });
    });
  });
  const yTicks = [0, STRICT_LIMIT / 2, STRICT_LIMIT].map((at) => ({ at, label: String(at) }));
  return (
    axes(
      frame,
      { title: 'window of 1 s', ticks: xTicks, place: x },
      { title: 'admitted in the window', ticks: yTicks, place: y },
    ) +
    bars.join('') +
    line(left, y(STRICT_LIMIT), left + width, y(STRICT_LIMIT), 'bound') +
    text(left + width, y(STRICT_LIMIT) - 6, `the limit: ${STRICT_LIMIT} over all regions`, { class: 'warn end' })
  );
}

/** By how much the limit is exceeded, for each load. */
export function overshootPanel(frame: Frame, levels: readonly Level[], nodes: number): string {
  const { left, top, width, height } = frame;
  const bound = (nodes - 1) * 100;
  const y = linear(0, bound * 1.15, top + height, top);
  const seconds = levels.map(({ secondsToLimit }) => secondsToLimit);
  const x = logarithmic(Math.min(...seconds) * 0.8, Math.max(...seconds) * 1.5, left, left + width);
  const points = levels.flatMap(({ secondsToLimit, trials }) =>
    trials.map(({ admitted }) => [x(secondsToLimit), y(percentOver(sum(admitted)))] as const),
  );
  const medians = levels.map(({ secondsToLimit, trials }) => {
    const over = percentOver(
      percentile(
        trials.map(({ admitted }) => sum(admitted)),
        0.5,
      ),
    );
    return { x: x(secondsToLimit), y: y(over), label: `${over.toFixed(0)} %` };
  });
  const path = medians.map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`).join(' ');
  const yTicks = [0, 50, 100, 150, 200].filter((at) => at <= bound).map((at) => ({ at, label: `${at} %` }));
  const xTicks = seconds.map((at) => ({ at, label: String(at) }));
  return (
    axes(
      frame,
      { title: 'seconds in which the load reaches the limit (log)', ticks: xTicks, place: x },
      { title: 'admitted over the limit', ticks: yTicks, place: y },
    ) +
    element('polyline', { points: path, class: 'curve' }) +
    dots(points, 3.5, 'trial') +
    medians.map((point) => text(point.x + 9, point.y - 5, point.label)).join('') +
    line(left, y(bound), left + width, y(bound), 'bound') +
    text(left + width, y(bound) - 6, `hard bound: nodes x limit (${bound} % over)`, { class: 'warn end' })
  );
}

/** Every trial, with one row for each region where it began. */
export function pathsPanel(frame: Frame, { convergence, revocation, latency }: Results): string {
  const { left, top, width, height } = frame;
  const names = latency.map(({ region }) => region);
  const groups = [
    { label: 'count', paths: convergence },
    { label: 'revoke', paths: revocation.paths },
  ];
  const times = groups.flatMap(({ paths }) => paths.flatMap(({ timesMs }) => timesMs));
  const end = Math.max(REVOKED_WITHIN_MS * 1.1, greatest(times) * 1.05);
  const x = linear(0, end, left, left + width);
  const row = height / groups.length;
  const y = (group: number): number => top + row * (group + 0.5);
  const marks = groups.flatMap(({ paths }, group) =>
    names.map((name, region) => strip(paths, name, y(group) + (region - 1) * (row / 3.6), region, x)),
  );
  const xTicks = [0, 250, 500, 750, 1000].map((at) => ({ at, label: String(at) }));
  const yTicks = groups.map(({ label }, at) => ({ at, label }));
  return (
    axes(
      frame,
      { title: 'milliseconds until another region sees it: | p50', ticks: xTicks, place: x },
      { title: '', ticks: yTicks, place: y },
    ) +
    marks.join('') +
    line(x(REVOKED_WITHIN_MS), top, x(REVOKED_WITHIN_MS), top + height, 'bound') +
    text(x(REVOKED_WITHIN_MS) - 6, top + 12, 'promised', { class: 'warn end' })
  );
}

function strip(paths: readonly Path[], from: string, at: number, region: number, x: (ms: number) => number): string {
  const times = paths.filter((path) => path.from === from).flatMap(({ timesMs }) => timesMs);
  // A small vertical offset, so that equal times do not hide each other.
  const points = times.map((ms, i) => [x(ms), at + ((i % 5) - 2) * 2] as const);
  const middle = x(percentile(times, 0.5));
  return dots(points, 2.2, `faint r${region}`) + line(middle, at - 11, middle, at + 11, `median r${region}`);
}
