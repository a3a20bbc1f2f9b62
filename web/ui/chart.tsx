import { useEffect, useRef, useState } from 'preact/hooks';

import { LANGUAGE } from '../validLanguage.ts';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { count } from './show.tsx';

export interface Series {
  readonly label: string;
  /** The name of a colour in style.css. */
  readonly color: string;
  readonly values: readonly number[];
}

/** Bars on top of each other, one for each time. Those who do not see the picture are told its totals. */
export function StackedChart({
  label,
  times,
  series,
  summary = totals(series),
}: {
  readonly label: string;
  /** The picture in words. */
  readonly summary?: string;
  readonly times: readonly number[];
  readonly series: readonly Series[];
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const isDark = useDark();
  const names = series.map((each) => each.label).join();
  const data: uPlot.AlignedData = [times.map((time) => time / 1000), ...stacked(series)];
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(series, times, element), data, element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [names, step(times), isDark]);
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)]);
  return (
    <figure class="chart">
      <div ref={place} aria-hidden="true" />
      <figcaption class="hidden">
        {label}: {summary}
      </figcaption>
    </figure>
  );
}

/** The theme of the system. A picture has its colours only when it is drawn. */
function useDark(): boolean {
  const media = matchMedia('(prefers-color-scheme: dark)');
  const [isDark, setDark] = useState(media.matches);
  useEffect(() => {
    const change = (): void => setDark(media.matches);
    media.addEventListener('change', change);
    return () => media.removeEventListener('change', change);
  }, []);
  return isDark;
}

const HEIGHT = 240;

function totals(series: readonly Series[]): string {
  return series.map(({ label, values }) => `${label} ${count(values.reduce((sum, each) => sum + each, 0))}`).join(', ');
}

/** Each series is drawn from 0 to its own value plus all below it; the topmost is drawn first. */
function stacked(series: readonly Series[]): number[][] {
  const length = series[0]?.values.length ?? 0;
  const sums = Array.from({ length }, () => 0);
  return series
    .map(({ values }) => values.map((value, i) => (sums[i] = (sums[i] ?? 0) + value)))
    .map((each) => [...each])
    .toReversed();
}

const COUNT = new Intl.NumberFormat(LANGUAGE, { notation: 'compact' });
const DAY = new Intl.DateTimeFormat(LANGUAGE, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const CLOCK = new Intl.DateTimeFormat(LANGUAGE, { hour: 'numeric', minute: '2-digit' });
const DAY_MS = 86_400_000;

/** Bars of days are days in UTC; shorter ones are told by the reader's clock. */
function timeLabel(atMs: number, stepMs: number): string {
  return (stepMs >= DAY_MS ? DAY : CLOCK).format(atMs);
}

/** From the middle of one bar to that of the next. */
function step(times: readonly number[]): number {
  return (times[1] ?? 0) - (times[0] ?? 0);
}

function optionsOf(series: readonly Series[], times: readonly number[], element: HTMLElement): uPlot.Options {
  const half = step(times) / 2000;
  const withHalfBars: uPlot.Range.Function = (_plot, min, max) => [min - half, max + half];
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const bars = uPlot.paths.bars?.({ size: [0.8, 40] });
  const axis = { stroke: color('text'), grid: { stroke: color('line') }, ticks: { stroke: color('line') } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { range: withHalfBars }, y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 5)] } },
    axes: [
      { ...axis, values: (_plot, splits) => splits.map((seconds) => timeLabel(seconds * 1000, step(times))) },
      { ...axis, size: 60, values: (_plot, splits) => splits.map((value) => COUNT.format(value)) },
    ],
    series: [
      {},
      ...series.toReversed().map((each) => ({
        label: each.label,
        fill: color(each.color),
        stroke: color(each.color),
        width: 0,
        points: { show: false },
        ...(bars === undefined ? {} : { paths: bars }),
      })),
    ],
  };
}

export function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <ul class="legend">
      {series.map(({ label, color, values }) => (
        <li key={label}>
          <span class={`dot ${color}`} aria-hidden="true" />
          {label} <strong>{count(values.reduce((sum, each) => sum + each, 0))}</strong>
        </li>
      ))}
    </ul>
  );
}
