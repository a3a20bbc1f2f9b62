import type { Child } from './child.ts';
import { type Round, runLoad } from './load.ts';
import { machineSeconds, ownSeconds, processorSeconds } from './process.ts';
import { atRandom, inTurn, type RequestPool } from './requests.ts';
import { median, overAll, type Quotient, type Spread, spreadOf, sumOf } from './statistics.ts';

export const CONNECTIONS = 64;
/** A pair counts as disturbed when other programs keep more processors busy than this. */
const QUIET = 0.15;
/** At most this many times the wanted pairs are measured to find undisturbed ones. */
const MAX_ATTEMPTS = 2;

/** What is measured: one server, or several nodes that share the connections. */
export interface Side {
  readonly children: readonly [Child, ...Child[]];
  readonly pool: RequestPool;
  /** How many keys of the pool are used, from the first on. */
  readonly keys: number;
  /** Absent: the usual number. */
  readonly connections?: number;
  /** The factor by which its rounds are longer than usual. Absent: 1. */
  readonly times?: number;
  /** Called after its servers resume, before the round begins. */
  readonly whenResumed?: () => Promise<unknown>;
  /** Processor time used so far by its database, when that is a separate process. */
  readonly databaseSeconds?: () => number;
}

/**
 * Rounds of a service are this many times longer than those of a yardstick. Work that follows the clock, such as saving and
 * summing, accumulates while the service is stopped and is done in its own rounds. With rounds of equal length it would weigh
 * twice as much as in reality.
 */
export const SERVICE_TIMES = 3;

export interface Pace {
  readonly rounds: number;
  readonly secondsPerRound: number;
}

/** One side of a comparison: the medians of its rounds. */
export interface SideResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly answerBytes: number;
  /** Processors that its servers kept busy. A single server below 1 waited for the disk or for the load generator. */
  readonly busy: number;
}

export interface Comparison {
  readonly baseline: SideResult;
  readonly subject: SideResult;
  /** Subject divided by baseline, for each pair of rounds. */
  readonly ratio: Spread;
  readonly p99Ratio: Spread;
  /** Processor time of the servers for one request: the subject's divided by the baseline's, for each pair of rounds. */
  readonly processorRatio: Spread;
  /** The same over all rounds together. */
  readonly processorCost: Quotient;
  /** Processors that other programs kept busy at the same time. */
  readonly foreign: Spread;
}

type MeasuredRound = Round & { readonly busy: number; readonly foreign: number };

interface Pair {
  readonly baseline: MeasuredRound;
  readonly subject: MeasuredRound;
  readonly foreign: number;
}

/**
 * Measures in turn: baseline, subject, baseline, subject. The speed of a shared machine changes within seconds, so only
 * neighbouring rounds are compared. The side that is not measured is stopped by the operating system, so that deferred work
 * of a server (applying the log, saving, garbage collection) falls into its own rounds. Pairs that other programs disturb are
 * measured again. The least disturbed pairs count, whatever their results are.
 */
export async function compare(baseline: Side, subject: Side, pace: Pace): Promise<Comparison> {
  for (const side of [baseline, subject]) for (const child of side.children) child.pause();
  const pairs: Pair[] = [];
  const quiet = (): number => pairs.filter(({ foreign }) => foreign <= QUIET).length;
  while (quiet() < pace.rounds && pairs.length < pace.rounds * MAX_ATTEMPTS) {
    pairs.push(await measurePair(baseline, subject, pace.secondsPerRound));
  }
  return summarize(pairs.toSorted((a, b) => a.foreign - b.foreign).slice(0, pace.rounds));
}

/** The runtime compiles code while it runs. After this time under load a new process does not get faster any more. */
const COMPILED_AFTER_SECONDS = 7;

/** Verifies every key once on every server, then runs until the code is compiled. Returns the round of the first verifications. */
export async function warmUp({ children, pool, keys, connections = CONNECTIONS }: Side): Promise<Round> {
  const firstSeen: Round[] = [];
  for (const { port } of children) {
    const load = { ports: [port], pool, connections };
    firstSeen.push(await runLoad({ ...load, pick: inTurn(keys, keys), seconds: Infinity }));
    await runLoad({ ...load, pick: atRandom(keys), seconds: COMPILED_AFTER_SECONDS });
  }
  return firstSeen[0] as Round;
}

async function measurePair(baseline: Side, subject: Side, seconds: number): Promise<Pair> {
  const first = await measureAlone(baseline, seconds * (baseline.times ?? 1));
  const second = await measureAlone(subject, seconds * (subject.times ?? 1));
  return { baseline: first, subject: second, foreign: Math.max(first.foreign, second.foreign) };
}

async function measureAlone(
  { children, pool, keys, connections = CONNECTIONS, whenResumed, databaseSeconds = () => 0 }: Side,
  seconds: number,
): Promise<MeasuredRound> {
  for (const child of children) child.resume();
  await whenResumed?.();
  const secondsNow = () => ({
    server: children.reduce((sum, { pid }) => sum + processorSeconds(pid), 0),
    // The work of the load generator and of the database is not a disturbance.
    known: ownSeconds() + databaseSeconds(),
    machine: machineSeconds(),
    elapsed: performance.now() / 1000,
  });
  const before = secondsNow();
  const ports = children.map(({ port }) => port);
  const round = await runLoad({ ports, pool, pick: atRandom(keys), connections, seconds });
  const after = secondsNow();
  for (const child of children) child.pause();
  const [server, known] = [after.server - before.server, after.known - before.known];
  const elapsed = after.elapsed - before.elapsed;
  const foreign = Math.max(0, after.machine - before.machine - known - server) / elapsed;
  return { ...round, busy: server / elapsed, foreign };
}

function summarize(pairs: readonly Pair[]): Comparison {
  return {
    baseline: summarizeSide(pairs.map(({ baseline }) => baseline)),
    subject: summarizeSide(pairs.map(({ subject }) => subject)),
    ratio: spreadOf(pairs.map(({ baseline, subject }) => subject.perSecond / baseline.perSecond)),
    p99Ratio: spreadOf(pairs.map(({ baseline, subject }) => subject.p99Ms / baseline.p99Ms)),
    processorRatio: spreadOf(pairs.map(({ baseline, subject }) => perRequest(subject) / perRequest(baseline))),
    processorCost: overAll(pairs, costOf),
    foreign: spreadOf(pairs.map(({ foreign }) => foreign)),
  };
}

/**
 * Warms both sides up, compares them and ends their servers. In between, both do the work that warming up has left them. Otherwise the
 * first side would do it, for nothing, while the second one warms up, and the second one in its rounds: that made it a fifth slower.
 */
export async function compareAndStop(baseline: Side, subject: Side, pace: Pace): Promise<Comparison> {
  for (const side of [baseline, subject]) await warmUp(side);
  const children = [...baseline.children, ...subject.children];
  await untilIdle(children);
  const comparison = await compare(baseline, subject, pace);
  await Promise.all(children.map((child) => child.stop()));
  return comparison;
}

/** A server that keeps less of a processor busy than this has nothing to do. */
const IDLE = 0.05;
const LOOK_EVERY_SECONDS = 1;
const MAX_LOOKS = 60;

/** Waits until every server was idle at two looks in a row, or for a minute. */
async function untilIdle(children: readonly Child[]): Promise<void> {
  const used = (): readonly number[] => children.map(({ pid }) => processorSeconds(pid));
  let idleLooks = 0;
  for (let look = 0, before = used(); look < MAX_LOOKS && idleLooks < 2; look++) {
    await Bun.sleep(LOOK_EVERY_SECONDS * 1000);
    const now = used();
    const isIdle = now.every((seconds, i) => seconds - (before[i] ?? 0) < IDLE * LOOK_EVERY_SECONDS);
    idleLooks = isIdle ? idleLooks + 1 : 0;
    before = now;
  }
}

/** One comparison out of several that were each made with new processes. Its spreads are those of their medians. */
export function joinComparisons(all: readonly Comparison[]): Comparison {
  const spread = (pick: (each: Comparison) => Spread): Spread => spreadOf(all.map((each) => pick(each).median));
  const side = (pick: (each: Comparison) => SideResult): SideResult => {
    const of = (number: (side: SideResult) => number): number => median(all.map((each) => number(pick(each))));
    return {
      perSecond: of(({ perSecond }) => perSecond),
      p50Ms: of(({ p50Ms }) => p50Ms),
      p99Ms: of(({ p99Ms }) => p99Ms),
      answerBytes: of(({ answerBytes }) => answerBytes),
      busy: of(({ busy }) => busy),
    };
  };
  return {
    baseline: side(({ baseline }) => baseline),
    subject: side(({ subject }) => subject),
    ratio: spread(({ ratio }) => ratio),
    p99Ratio: spread(({ p99Ratio }) => p99Ratio),
    processorRatio: spread(({ processorRatio }) => processorRatio),
    processorCost: overAll(all, (some) => sumOf(some, ({ processorCost }) => processorCost.quotient) / some.length),
    foreign: spread(({ foreign }) => foreign),
  };
}

function perRequest({ busy, perSecond }: Pick<MeasuredRound, 'busy' | 'perSecond'>): number {
  return busy / perSecond;
}

/** All processor time by all requests, of the subject against the baseline. A round in which the machine hung has few of both. */
function costOf(pairs: readonly Pair[]): number {
  const [subject, baseline] = (['subject', 'baseline'] as const).map((side) =>
    perRequest({
      busy: sumOf(pairs, (pair) => pair[side].busy),
      perSecond: sumOf(pairs, (pair) => pair[side].perSecond),
    }),
  );
  return (subject ?? NaN) / (baseline ?? NaN);
}

function summarizeSide(rounds: readonly MeasuredRound[]): SideResult {
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
    answerBytes: median(rounds.map(({ meanAnswerBytes }) => meanAnswerBytes)),
    busy: median(rounds.map(({ busy }) => busy)),
  };
}
