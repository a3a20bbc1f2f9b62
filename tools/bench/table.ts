import type { VersionRow } from './rows/against.ts';
import type { AnalyticsSide } from './rows/analytics.ts';
import type { CounterResult } from './rows/counters.ts';
import type { CreatingTimes } from './rows/creating.ts';
import type { CrashResult } from './rows/crash.ts';
import type { Goal, Results } from './goals.ts';
import type { Comparison, SideResult } from './pairs.ts';
import { CROWD_CONNECTIONS, type PostgresResult } from './rows/postgres.ts';
import type { Spread } from './statistics.ts';

/** The printed report. */
export function resultTables(results: Results, goals: readonly Goal[]): string {
  const { counters, analytics, crash, million, listing, creating, postgres, dashboards } = results;
  const sections: string[] = [];
  if (counters.length > 0) {
    const head = ['embedded database', ...comparisonHead('bare', 'keystile'), 'flush'];
    sections.push(table([head, ...counters.map(counterCells)]), NOTES);
  }
  if (analytics !== null) {
    sections.push(
      table([
        ['analytics', 'requests/s', 'answering us', 'background'],
        ['off', ...analyticsCells(analytics.off)],
        ['on', ...analyticsCells(analytics.on)],
      ]),
      'answering us: processor time of the answering thread for each request. background: processors that the other threads keep busy.',
    );
    const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
    const { cost } = analytics;
    if (cost !== null) {
      sections.push(
        `Added time of the answering thread: ${percent(cost.counting)} for counting, ${percent(cost.taking)} for handing counts to the writer.`,
      );
    }
  }
  if (crash !== null) {
    const cells = ({ keys, perSecond, lostSeconds }: CrashResult): string[] => [
      whole(keys),
      whole(perSecond),
      `${lostSeconds.toFixed(1)} s`,
    ];
    sections.push(
      table([
        ['killed process', 'keys in use', 'keystile/s', 'counts lost'],
        ['embedded', ...cells(crash.one)],
        ['PostgreSQL', ...cells(crash.node)],
      ]),
    );
  }
  if (dashboards !== null) {
    const { processorRatio, processorCost } = dashboards.comparison;
    sections.push(
      `Ten open dashboards, each with ${dashboards.asksPerSecond.toFixed(1)} requests a second: processor time of a verification ${processorCost.quotient.toFixed(3)} over all rounds, standard error ${processorCost.error.toFixed(3)}; median of the pairs ${spread(processorRatio, 3)}.`,
    );
  }
  if (million !== null) {
    const head = ['', ...comparisonHead('1,000', '1,000,000')];
    const firstSeen = `First verification of each of the 1,000,000 keys: ${whole(million.firstSeenPerSecond)} a second.`;
    sections.push(table([head, ['keys stored', ...comparisonCells(million.comparison)]]), firstSeen);
  }
  if (listing !== null) {
    const { pages, firstMs, earlyMs, lateMs, slowestMs, questions } = listing;
    sections.push(
      table([
        ['', 'pages', 'first ms', 'early ms', 'late ms', 'slowest ms'],
        ['listing', whole(pages), ...[firstMs, earlyMs, lateMs, slowestMs].map((each) => each.toFixed(1))],
      ]),
      table([
        ['listing by', 'first ms', 'middle ms', 'last ms'],
        ...questions.map(({ name, milliseconds }) => [name, ...milliseconds.map((each) => each.toFixed(1))]),
      ]),
    );
  }
  if (creating !== null) {
    const cells = ({ oneByOneSeconds, inBulkSeconds }: CreatingTimes): string[] =>
      [oneByOneSeconds, inBulkSeconds].map((seconds) => `${seconds.toFixed(2)} s`);
    sections.push(
      table([
        [`creating ${whole(creating.keys)} keys`, 'one by one', 'in bulk'],
        ['embedded', ...cells(creating.embedded)],
        ['PostgreSQL', ...cells(creating.postgres)],
      ]),
    );
  }
  if (postgres !== null) {
    sections.push(...postgresSections(postgres));
  }
  if (goals.length > 0) sections.push(table([['target', 'measured', '', 'wanted', ''], ...goals.map(goalCells)]));
  return sections.join('\n\n');
}

/** This version beside another one. */
export function versionTable(rows: readonly VersionRow[]): string {
  const cells = rows.map(({ title, comparison }) => {
    const { processorRatio } = comparison;
    return [title, ...comparisonCells(comparison), spread(processorRatio, 2), processorRatio.error.toFixed(3)];
  });
  return table([['', ...comparisonHead('other', 'this'), 'processor time', 'standard error'], ...cells]);
}

function postgresSections({ oneNode, twoNodes, strictCrowd, guarded }: PostgresResult): string[] {
  const bare = ['PostgreSQL', ...comparisonHead('bare', 'keystile')];
  const update = ['PostgreSQL', ...comparisonHead('UPDATE', 'keystile')];
  const rows: [string, Comparison][] = [
    ['local limit, 1 node', oneNode.local],
    ['local limit, 2 nodes', twoNodes.local],
    ['strict limit, 1 node', oneNode.strict],
    ['strict limit, 2 nodes', twoNodes.strict],
    ['credits, 1 node', oneNode.credits],
    ['credits, 2 nodes', twoNodes.credits],
    [`strict limit, 1 node, ${CROWD_CONNECTIONS} connections`, strictCrowd],
  ];
  return [
    table([bare, ...rows.map(([title, comparison]) => [title, ...comparisonCells(comparison)])]),
    POSTGRES_NOTES,
    table([update, ['credits, 1 node', ...comparisonCells(guarded)]]),
    'UPDATE: a handler that sends one guarded UPDATE to PostgreSQL for each request and checks nothing else.',
  ];
}

const NOTES = [
  'bare: a minimal Bun.serve handler that parses the body, hashes the key and sends an answer of the same size.',
  'ratio: keystile/s divided by bare/s. The median of all pairs of neighbouring rounds, with the smallest and the largest.',
  'p50 ms, p99 ms, cpu: the value of the first server, then that of Keystile.',
  'cpu: processors that each server kept busy. With less than 0.9 for the first, the load generator or another program was the bottleneck.',
  'others: processors that other programs kept busy. Above 0.15 the results are not reliable.',
].join('\n');

const POSTGRES_NOTES = [
  '1 node: a single Keystile has all connections. 2 nodes: two share the database, and each has half of the connections.',
  'keystile/s and cpu add up both nodes. The bare handler is one process with all connections in every row.',
  'The load generator, all nodes and PostgreSQL run on the processors of this machine, so two nodes are not twice as fast.',
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
  return [whole(perSecond), processor?.answerMicroseconds.toFixed(2) ?? '-', processor?.background.toFixed(3) ?? '-'];
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

/** Aligned columns: the first to the left, the others to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  return rows
    .map((cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))))
    .map((cells) => cells.join('  ').trimEnd())
    .join('\n');
}
