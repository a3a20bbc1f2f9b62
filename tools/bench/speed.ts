import { readFileSync, writeFileSync } from 'node:fs';

import type { Results } from './goals.ts';
import type { Comparison } from './pairs.ts';
import { median } from './statistics.ts';

/** The figures that the README publishes. `npm run bench -- --publish` adds a run, `npm run docs` draws them. */
export const SPEED_FILE = 'docs/speed.json';
/** A row keeps its newest runs: after so many runs of a new version nothing of the old one is left. */
const MAX_RUNS = 5;

export interface SpeedRow {
  readonly name: string;
  /** Requests per second as a share of the bare handler's: the median of each run, oldest first. */
  readonly runs: readonly number[];
  /** The p99 of the newest run as a multiple of the bare handler's; null = not published yet. */
  readonly p99: number | null;
}

export interface Speed {
  readonly machine: string;
  readonly rows: readonly SpeedRow[];
}

/** What is published, in the order of the table and the plot. */
export const PUBLISHED: Readonly<Record<string, { title: string; of: (results: Results) => Comparison | null }>> = {
  'no-counter': { title: 'Embedded: no counter', of: counter('no-counter') },
  local: { title: 'Embedded: local limit', of: counter('local') },
  counted: { title: 'Embedded: credits, durable before the answer', of: counter('counted') },
  strict: { title: 'Embedded: strict limit, durable before the answer', of: counter('strict') },
  'postgres-local': {
    title: 'PostgreSQL, one node: local limit',
    of: ({ postgres }) => postgres?.oneNode.local ?? null,
  },
  'postgres-strict': {
    title: 'PostgreSQL, one node: strict limit',
    of: ({ postgres }) => postgres?.oneNode.strict ?? null,
  },
  'postgres-credits': {
    title: 'PostgreSQL, one node: credits',
    of: ({ postgres }) => postgres?.oneNode.credits ?? null,
  },
  'postgres-local-two': {
    title: 'PostgreSQL, two nodes: local limit',
    of: ({ postgres }) => postgres?.twoNodes.local ?? null,
  },
  'postgres-strict-two': {
    title: 'PostgreSQL, two nodes: strict limit',
    of: ({ postgres }) => postgres?.twoNodes.strict ?? null,
  },
  'postgres-credits-two': {
    title: 'PostgreSQL, two nodes: credits',
    of: ({ postgres }) => postgres?.twoNodes.credits ?? null,
  },
  'postgres-strict-256': {
    title: 'PostgreSQL, one node: strict limit, 256 connections',
    of: ({ postgres }) => postgres?.strictCrowd ?? null,
  },
};

function counter(name: string): (results: Results) => Comparison | null {
  return ({ counters }) => counters.find(({ row }) => row.name === name)?.comparison ?? null;
}

export function readSpeed(): Speed {
  return JSON.parse(readFileSync(SPEED_FILE, 'utf8')) as Speed;
}

export function writeSpeed(speed: Speed): void {
  writeFileSync(SPEED_FILE, speedText(speed));
}

/** One line for each row, written as the formatter writes JSON. */
export function speedText({ machine, rows }: Speed): string {
  const lines = rows.map(({ name, runs, p99 }) => {
    return `    { "name": ${JSON.stringify(name)}, "runs": [${runs.join(', ')}], "p99": ${p99} }`;
  });
  return `{\n  "machine": ${JSON.stringify(machine)},\n  "rows": [\n${lines.join(',\n')}\n  ]\n}\n`;
}

/** The published figures with one more run of every row that was measured. */
export function withRun(speed: Speed, results: Results, machine: string): Speed {
  const rows = Object.entries(PUBLISHED).flatMap(([name, { of }]) => {
    const before = speed.rows.find((row) => row.name === name) ?? null;
    const measured = of(results);
    if (measured === null) return before ?? [];
    const runs = [...(before?.runs ?? []), twoDigits(measured.ratio.median)].slice(-MAX_RUNS);
    return { name, runs, p99: Math.round(measured.p99Ratio.median * 10) / 10 };
  });
  return { machine, rows };
}

/** The table in the README. */
export function speedTable(speed: Speed): string {
  const lines = speed.rows.map(({ name, runs, p99 }) => {
    const cells = [titleOf(name), median(runs).toFixed(2), rangeOf(runs), p99 === null ? '' : p99.toFixed(1)];
    return `| ${cells.join(' | ')} |`.replaceAll('  ', ' ');
  });
  return ['| Verification | Requests | Runs | p99 |', '|---|---|---|---|', ...lines].join('\n');
}

export function titleOf(name: string): string {
  return PUBLISHED[name]?.title ?? name;
}

function rangeOf(runs: readonly number[]): string {
  if (runs.length === 1) return '1';
  return `${runs.length}: ${Math.min(...runs).toFixed(2)} to ${Math.max(...runs).toFixed(2)}`;
}

function twoDigits(value: number): number {
  return Math.round(value * 100) / 100;
}
