import type { AnalyticsSide } from './analytics.ts';
import type { CounterResult } from './counters.ts';
import type { CrashResult } from './crash.ts';
import type { Goal, Results } from './goals.ts';
import type { Comparison, SideResult } from './pairs.ts';
import { CROWD_CONNECTIONS } from './postgres.ts';
import type { Spread } from './statistics.ts';

/** What a person reads. */
export function resultTables(results: Results, goals: readonly Goal[]): string {
  const { counters, analytics, crash, million, listing, postgres } = results;
  const parts: string[] = [];
  if (counters.length > 0) {
    const head = ['', ...comparisonHead('bare', 'keystile'), 'flush'];
    parts.push(table([head, ...counters.map(counterCells)]), NOTES);
  }
  if (analytics !== null) {
    parts.push(
      table([
        ['analytics', 'requests/s', 'answering us', 'behind it'],
        ['off', ...analyticsCells(analytics.off)],
        ['on', ...analyticsCells(analytics.on)],
      ]),
      'answering: processor time of the thread that answers, for each request; behind it: processors that other threads keep busy.',
    );
    const share = (part: number): string => `${(part * 100).toFixed(1)} %`;
    const { cost } = analytics;
    if (cost !== null) {
      parts.push(
        `Of the thread that answers: counting ${share(cost.counting)}, taking counts out ${share(cost.taking)}.`,
      );
    }
  }
  if (crash !== null) {
    const cells = ({ keys, perSecond, lostSeconds }: CrashResult): string[] => [
      whole(keys),
      whole(perSecond),
      `${lostSeconds.toFixed(1)} s`,
    ];
    parts.push(
      table([
        ['killed', 'keys in use', 'keystile/s', 'counts lost'],
        ['embedded', ...cells(crash.one)],
        ['PostgreSQL', ...cells(crash.node)],
      ]),
    );
  }
  if (million !== null) {
    const head = ['', ...comparisonHead('1,000', '1,000,000')];
    const firstSeen = `First sight of each of the 1,000,000 keys: ${whole(million.firstSeenPerSecond)} a second.`;
    parts.push(table([head, ['keys stored', ...comparisonCells(million.comparison)]]), firstSeen);
  }
  if (listing !== null) {
    const { pages, firstMs, earlyMs, lateMs, slowestMs } = listing;
    parts.push(
      table([
        ['', 'pages', 'first ms', 'early ms', 'late ms', 'slowest ms'],
        ['listing', whole(pages), ...[firstMs, earlyMs, lateMs, slowestMs].map((each) => each.toFixed(1))],
      ]),
    );
  }
  if (postgres !== null) {
    const bare = ['PostgreSQL', ...comparisonHead('bare', 'keystile')];
    const update = ['PostgreSQL', ...comparisonHead('UPDATE', 'keystile')];
    const { local, strict, strictCrowd, guarded } = postgres;
    const rows: [string, Comparison][] = [
      ['local limit', local],
      ['strict limit', strict],
      [`strict limit, ${CROWD_CONNECTIONS} connections`, strictCrowd],
    ];
    parts.push(table([bare, ...rows.map(([title, comparison]) => [title, ...comparisonCells(comparison)])]));
    parts.push(table([update, ['credits', ...comparisonCells(guarded)]]));
  }
  if (goals.length > 0) parts.push(table([['', 'measured', '', 'target', ''], ...goals.map(goalCells)]));
  return parts.join('\n\n');
}

const NOTES = [
  'ratio: median of the pairs of neighbouring rounds, and the least and the greatest of them.',
  'cpu: processors that each server kept busy. Where the first is below 0.9, something else was the limit.',
  'others: processors that other programs kept busy; above 0.15 the numbers are of little use.',
].join('\n');

function comparisonHead(baseline: string, subject: string): string[] {
  return [`${baseline}/s`, `${subject}/s`, 'ratio', 'p50 ms', 'p99 ms', 'p99 ratio', 'cpu', 'others'];
}

function counterCells({ row, comparison, flushMs }: CounterResult): string[] {
  return [row.title, ...comparisonCells(comparison), flushMs === null ? '-' : `${flushMs.toFixed(2)} ms`];
}

function comparisonCells({ baseline, subject, ratio, p99Ratio, foreign }: Comparison): string[] {
  const both = (pick: (side: SideResult) => number): string =>
    `${pick(baseline).toFixed(2)} / ${pick(subject).toFixed(2)}`;
  return [
    whole(baseline.perSecond),
    whole(subject.perSecond),
    spread(ratio, 2),
    both(({ p50Ms }) => p50Ms),
    both(({ p99Ms }) => p99Ms),
    spread(p99Ratio, 1),
    both(({ busy }) => busy),
    spread(foreign, 2),
  ];
}

function analyticsCells({ perSecond, processor }: AnalyticsSide): string[] {
  return [whole(perSecond), processor?.answerMicroseconds.toFixed(2) ?? '-', processor?.behind.toFixed(3) ?? '-'];
}

function goalCells({ what, measured, bound, target, unit, isReached }: Goal): string[] {
  return [what, measured.toFixed(2), bound, `${target} ${unit}`, isReached ? 'reached' : 'MISSED'];
}

function spread({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}..${max.toFixed(digits)})`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Columns as wide as their widest cell: the first to the left, the others to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  return rows
    .map((cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))))
    .map((cells) => cells.join('  ').trimEnd())
    .join('\n');
}
