import type { AnalyticsResult } from './rows/analytics.ts';
import type { CounterResult } from './rows/counters.ts';
import type { CrashResult } from './rows/crash.ts';
import type { CreatingResult } from './rows/creating.ts';
import type { IdleResult } from './rows/idle.ts';
import type { ListingResult } from './rows/listing.ts';
import type { MillionResult } from './rows/million.ts';
import type { OverloadResult } from './rows/overload.ts';
import type { PipelinedResult } from './rows/pipelined.ts';
import type { DashboardsResult } from './rows/dashboards.ts';
import type { PlanResult } from './rows/plans.ts';
import { CROWD_CONNECTIONS, type PostgresResult } from './rows/postgres.ts';
import type { StartupResult } from './rows/startup.ts';

export interface Results {
  readonly counters: readonly CounterResult[];
  /** Analytics on, compared to off. */
  readonly analytics: AnalyticsResult | null;
  /** Counts that a killed process loses. */
  readonly crash: { readonly one: CrashResult; readonly node: CrashResult } | null;
  readonly overload: OverloadResult | null;
  readonly pipelined: PipelinedResult | null;
  readonly million: MillionResult | null;
  readonly listing: ListingResult | null;
  readonly idle: IdleResult | null;
  readonly startup: StartupResult | null;
  readonly creating: CreatingResult | null;
  readonly postgres: PostgresResult | null;
  readonly plans: readonly PlanResult[];
  readonly dashboards: DashboardsResult | null;
}

/** A target of the project, with the measured value. */
export interface Goal {
  readonly what: string;
  readonly measured: number;
  readonly bound: 'at least' | 'at most' | 'under';
  readonly target: number;
  readonly unit: string;
  readonly isReached: boolean;
}

type Bound = Goal['bound'];

export function goalsOf(results: Results): Goal[] {
  const { counters, analytics, crash, overload, pipelined, million, listing, idle, startup, creating, postgres } =
    results;
  const goals: Goal[] = [];
  const hold = (what: string, measured: number, bound: Bound, target: number | null, unit: string): void => {
    if (target !== null) goals.push({ what, measured, bound, target, unit, isReached: keeps(measured, bound, target) });
  };
  for (const { row, comparison } of counters) {
    hold(`${row.title}: requests`, comparison.ratio.median, 'at least', row.targetRatio, 'x bare');
    hold(`${row.title}: p99`, comparison.p99Ratio.median, 'at most', row.targetP99Ratio, 'x bare');
  }
  if (analytics !== null) {
    hold('analytics on: requests', analytics.on.perSecond / analytics.off.perSecond, 'at least', 0.97, 'x without');
    const { cost } = analytics;
    if (cost !== null)
      hold('analytics on: added time of the answering thread', (cost.counting + cost.taking) * 100, 'at most', 3, '%');
  }
  if (crash !== null) {
    hold('embedded, killed with 100,000 keys in use: counts lost', crash.one.lostSeconds, 'under', 15, 's');
    hold('PostgreSQL, killed with 100,000 keys in use: counts lost', crash.node.lostSeconds, 'under', 15, 's');
  }
  if (overload !== null) {
    hold('640 connections instead of 64: requests', overload.crowdRatio, 'at least', 0.9, 'x with 64');
    hold(
      'next to 64 connections on one key: requests of 64 others',
      overload.floodedRatio,
      'at least',
      0.5,
      'x without',
    );
    hold('next to 64 connections on one key: p99 of 64 others', overload.floodedP99Ratio, 'at most', 2, 'x without');
  }
  if (pipelined !== null) {
    hold('one client sends 12,631 requests at once: longest wait of another', pipelined.oneMs, 'under', 100, 'ms');
    hold('ten clients send 12,631 requests each: longest wait of another', pipelined.tenMs, 'under', 100, 'ms');
  }
  if (million !== null) {
    hold('1,000,000 keys: time from start to first verdict', million.startSeconds, 'under', 1, 's');
    hold('1,000,000 keys: requests', million.comparison.ratio.median, 'at least', 0.85, 'x 1,000 keys');
    hold('1,000,000 keys: resident memory', million.residentMebibytes, 'under', 700, 'MiB');
  }
  if (listing !== null) {
    hold('listing of 1,000,000 keys: slowest page', listing.slowestMs / listing.firstMs, 'at most', 5, 'x the first');
    const slowest = Math.max(...listing.questions.flatMap(({ milliseconds }) => milliseconds));
    hold('listing of 1,000,000 keys: slowest page of a filter or search', slowest, 'under', 300, 'ms');
  }
  if (idle !== null) {
    hold('idle: resident memory', idle.residentMebibytes, 'under', 120, 'MiB');
    hold('idle: processor', idle.processorPercent, 'under', 0.5, '%');
  }
  if (startup !== null) {
    const alone = `Node alone ${Math.round(startup.node)} ms`;
    hold(`keystile -v, from start to end (${alone})`, startup.version, 'under', 300, 'ms');
    hold(`keystile key create --help (${alone})`, startup.help, 'under', 300, 'ms');
  }
  if (creating !== null) {
    hold('PostgreSQL, 8,000 keys in calls of 1,000', creating.postgres.inBulkSeconds, 'at most', 3, 's');
  }
  if (postgres !== null) {
    hold('PostgreSQL, one node, local limit: requests', postgres.oneNode.local.ratio.median, 'at least', 0.6, 'x bare');
    hold(
      'PostgreSQL, one node, strict limit: requests',
      postgres.oneNode.strict.ratio.median,
      'at least',
      0.45,
      'x bare',
    );
    const credits = postgres.oneNode.credits.ratio.median;
    hold('PostgreSQL, one node, credits: requests', credits, 'at least', 0.4, 'x bare');
    const crowd = `PostgreSQL, one node, strict limit, ${CROWD_CONNECTIONS} connections: requests`;
    hold(crowd, postgres.strictCrowd.ratio.median, 'at least', 0.45, 'x bare');
    hold(
      'PostgreSQL, one node, credits: against an UPDATE',
      postgres.guarded.ratio.median,
      'at least',
      2.5,
      'x UPDATE',
    );
    hold('PostgreSQL, one node, one request at a time: p50', postgres.idleRatio, 'at most', 2, 'x UPDATE');
    hold(
      'PostgreSQL, three nodes, 200 connections on one key: requests',
      postgres.hotRatio,
      'at least',
      0.5,
      'x many keys',
    );
  }
  for (const { where, keysEach, shape, comparison } of results.plans) {
    const what = `${shape === 'credits' ? shape : `${shape} limit`}, ${keysEach === 1 ? 'one key' : `${keysEach} keys`} each`;
    hold(`on a plan, ${where}, ${what}: requests`, comparison.ratio.median, 'at least', 0.75, 'x without a plan');
  }
  const { dashboards } = results;
  if (dashboards !== null) {
    const cost = dashboards.comparison.processorCost.quotient;
    hold('ten open dashboards: processor time of a verification', cost, 'at most', 1.03, 'x without');
  }
  return goals;
}

function keeps(measured: number, bound: Bound, target: number): boolean {
  switch (bound) {
    case 'at least':
      return measured >= target;
    case 'at most':
      return measured <= target;
    case 'under':
      return measured < target;
  }
}
