import { readFileSync, writeFileSync } from 'node:fs';

import type { Results } from './goals.ts';
import type { Comparison } from './pairs.ts';
import { median } from './statistics.ts';

/** The figures that the README publishes. `npm run bench -- --publish` adds a run, `npm run docs` draws them. */
export const SPEED_FILE = 'docs/speed.json';
/** A row keeps its newest runs: after so many runs of a new version nothing of the old one is left. */
const MAX_RUNS = 5;

/** One run of a row. */
export interface SpeedRun {
  /** Requests per second as a share of the bare handler's, measured in turn with it. */
  readonly ratio: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface SpeedRow {
  readonly name: string;
  /** Oldest first. */
  readonly runs: readonly SpeedRun[];
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

/** One line for each run, written as the formatter writes JSON. */
export function speedText({ machine, rows }: Speed): string {
  const fields = ({ ratio, perSecond, p50Ms, p99Ms }: SpeedRun): string =>
    `{ "ratio": ${ratio}, "perSecond": ${perSecond}, "p50Ms": ${p50Ms}, "p99Ms": ${p99Ms} }`;
  const lines = rows.map(({ name, runs }) => {
    const list = runs.map((run) => `        ${fields(run)}`).join(',\n');
    const [only] = runs;
    const shown = only !== undefined && runs.length === 1 ? `[${fields(only)}]` : `[\n${list}\n      ]`;
    return `    {\n      "name": ${JSON.stringify(name)},\n      "runs": ${shown}\n    }`;
  });
  return `{\n  "machine": ${JSON.stringify(machine)},\n  "rows": [\n${lines.join(',\n')}\n  ]\n}\n`;
}

/** The published figures with one more run of every row that was measured. */
export function withRun(speed: Speed, results: Results, machine: string): Speed {
  const rows = Object.entries(PUBLISHED).flatMap(([name, { of }]) => {
    const before = speed.rows.find((row) => row.name === name) ?? null;
    const measured = of(results);
    if (measured === null) return before ?? [];
    const { perSecond, p50Ms, p99Ms } = measured.subject;
    const run = {
      ratio: twoDigits(measured.ratio.median),
      perSecond: Math.round(perSecond / 100) * 100,
      p50Ms: twoDigits(p50Ms),
      p99Ms: twoDigits(p99Ms),
    };
    return { name, runs: [...(before?.runs ?? []), run].slice(-MAX_RUNS) };
  });
  return { machine, rows };
}

/** The table in the README: medians of the runs, and the range of the ratios. */
export function speedTable({ machine, rows }: Speed): string {
  const middle = (runs: readonly SpeedRun[], of: (run: SpeedRun) => number): number => median(runs.map(of));
  const lines = rows.map(({ name, runs }) => {
    const cells = [
      titleOf(name),
      middle(runs, ({ perSecond }) => perSecond).toLocaleString('en'),
      `${middle(runs, ({ p50Ms }) => p50Ms).toFixed(1)} ms`,
      `${middle(runs, ({ p99Ms }) => p99Ms).toFixed(1)} ms`,
      `${middle(runs, ({ ratio }) => ratio).toFixed(2)}${rangeOf(runs.map(({ ratio }) => ratio))}`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    `| ${machine} | Requests per second | p50 | p99 | Share of a bare handler |`,
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

export function titleOf(name: string): string {
  return PUBLISHED[name]?.title ?? name;
}

function rangeOf(runs: readonly number[]): string {
  if (runs.length === 1) return '';
  return ` (${runs.length} runs: ${Math.min(...runs).toFixed(2)} to ${Math.max(...runs).toFixed(2)})`;
}

function twoDigits(value: number): number {
  return Math.round(value * 100) / 100;
}
