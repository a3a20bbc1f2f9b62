import type { RegionLatency } from './latency.ts';
import { type Level, LOCAL_LIMIT } from './overshoot.ts';
import type { Path } from './paths.ts';
import type { PromiseCheck } from './promises.ts';
import { greatest, least, percentile, sum } from './statistics.ts';
import { STRICT_LIMIT, type StrictResult } from './strict.ts';

/** The printed tables. */

export function latencyTable(regions: readonly RegionLatency[]): string {
  const head = ['ms', 'added delay', 'liveness p50', 'p99', 'local p50', 'p99', 'strict p50', 'p99'];
  const rows = regions.map(({ region, delayMs, liveness, local, strict }) => [
    region,
    String(delayMs),
    ...[liveness, local, strict].flatMap(({ p50Ms, p99Ms }) => [p50Ms.toFixed(2), p99Ms.toFixed(2)]),
  ]);
  return table([head, ...rows]);
}

export function strictTable({ full, leastAdmitted, mostAdmitted, leastAsked }: StrictResult, names: readonly string[]) {
  const mean = (region: number): number => sum(full.map(({ admitted }) => admitted[region] ?? 0)) / full.length;
  const head = ['windows', 'requests in each', 'limit', 'admitted in each', ...names];
  const cells = [
    String(full.length),
    `at least ${leastAsked}`,
    String(STRICT_LIMIT),
    range(leastAdmitted, mostAdmitted),
  ];
  return table([head, [...cells, ...names.map((_, i) => mean(i).toFixed(1))]]);
}

export function overshootTable(levels: readonly Level[], nodes: number): string {
  const head = ['limit reached in', 'requests/s', 'limit', 'admitted', 'hard bound', 'exceeded: median', 'most'];
  const rows = levels.map((level) => {
    const admitted = level.trials.map((trial) => sum(trial.admitted));
    return [
      `${level.secondsToLimit} s`,
      level.perSecond.toFixed(0),
      String(LOCAL_LIMIT),
      range(least(admitted), greatest(admitted)),
      String(nodes * LOCAL_LIMIT),
      `${percentOver(percentile(admitted, 0.5)).toFixed(1)} %`,
      `${percentOver(greatest(admitted)).toFixed(1)} %`,
    ];
  });
  return table([head, ...rows]);
}

/** By how many percent the local limit is exceeded. */
export function percentOver(admitted: number): number {
  return (admitted / LOCAL_LIMIT - 1) * 100;
}

/** One row for each region where it was done, one column for each region where it was seen: `p50 / max`. */
export function pathTable(paths: readonly Path[], names: readonly string[], done: string, seen: string): string {
  const head = ['ms, p50 / max', ...names.map((name) => `${seen} ${name}`), 'p50', 'p99', 'max', 'samples'];
  const rows = names.map((from) => {
    const own = paths.filter((path) => path.from === from);
    const cells = names.map((to) => {
      const path = own.find((each) => each.to === to);
      return path === undefined ? '-' : `${whole(percentile(path.timesMs, 0.5))} / ${whole(greatest(path.timesMs))}`;
    });
    return [`${done} ${from}`, ...cells, ...overall(own)];
  });
  return table([head, ...rows, ['all', ...names.map(() => ''), ...overall(paths)]]);
}

function overall(paths: readonly Path[]): string[] {
  const times = paths.flatMap(({ timesMs }) => timesMs);
  return [percentile(times, 0.5), percentile(times, 0.99), greatest(times), times.length].map(whole);
}

export function promiseTable(checks: readonly PromiseCheck[]): string {
  return table([
    ['promise', 'measured', ''],
    ...checks.map(({ promise, measured, isKept }) => [promise, measured, isKept ? 'kept' : 'BROKEN']),
  ]);
}

function range(from: number, to: number): string {
  return from === to ? String(from) : `${from}..${to}`;
}

function whole(value: number): string {
  return value.toFixed(0);
}

/** Aligned columns: the first to the left, the others to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  return rows
    .map((cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))))
    .map((cells) => `  ${cells.join('  ').trimEnd()}`)
    .join('\n');
}
