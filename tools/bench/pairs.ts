import type { Child } from './child.ts';
import { type Round, runLoad } from './load.ts';
import { machineSeconds, ownSeconds, processorSeconds } from './process.ts';
import { atRandom, inTurn, type RequestPool } from './requests.ts';
import { median, type Spread, spreadOf } from './statistics.ts';

export const CONNECTIONS = 64;
/** Processors that other programs may keep busy while a pair is measured; above it the pair is disturbed. */
const QUIET = 0.15;
/** How many times as many pairs are measured at the most, in the hope of quiet ones. */
const PATIENCE = 2;

export interface Side {
  readonly child: Child;
  readonly pool: RequestPool;
  /** Keys of the pool that are picked from: the first so many. */
  readonly keys: number;
  /** As many as usual unless named. */
  readonly connections?: number;
  /** How many times as long as usual it is measured. */
  readonly times?: number;
  /** Processor time so far of the database that works for it, where that is a process of its own. */
  readonly databaseSeconds?: () => number;
}

/**
 * Of a service against a yardstick. What it does by the clock, such as saving and summing, piles up while it is stopped and is
 * paid in its own rounds: were both measured equally long, twice as much as in reality.
 */
export const SERVICE_TIMES = 3;

export interface Pace {
  readonly rounds: number;
  readonly secondsPerRound: number;
}

/** One side of a comparison: medians over its rounds. */
export interface SideResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly answerBytes: number;
  /** Processors that the server kept busy: below 1 it waited, for the disk or for the load generator. */
  readonly busy: number;
}

export interface Comparison {
  readonly baseline: SideResult;
  readonly subject: SideResult;
  /** Subject through baseline, of each pair of rounds. */
  readonly ratio: Spread;
  readonly p99Ratio: Spread;
  /** Processors that other programs kept busy meanwhile. */
  readonly foreign: Spread;
}

type MeasuredRound = Round & { readonly busy: number; readonly foreign: number };

interface Pair {
  readonly baseline: MeasuredRound;
  readonly subject: MeasuredRound;
  readonly foreign: number;
}

/**
 * Rounds in turn: baseline, subject, baseline, subject. The speed of a shared machine drifts within seconds, so only
 * neighbours are compared. The side that is not measured is stopped by the operating system: work that a server puts
 * off (folding, saving, collecting garbage) is paid in its own rounds and never in those of the other. Pairs that other
 * programs disturbed are measured again; what counts are the quietest, chosen without a look at their results.
 */
export async function compare(baseline: Side, subject: Side, pace: Pace): Promise<Comparison> {
  for (const side of [baseline, subject]) side.child.pause();
  const pairs: Pair[] = [];
  const quiet = (): number => pairs.filter(({ foreign }) => foreign <= QUIET).length;
  while (quiet() < pace.rounds && pairs.length < pace.rounds * PATIENCE) {
    pairs.push(await measurePair(baseline, subject, pace.secondsPerRound));
  }
  return summarize(pairs.toSorted((a, b) => a.foreign - b.foreign).slice(0, pace.rounds));
}

/** After so long under load the speed of a new process was seen to rise no more: the runtime compiles as it goes. */
const COMPILED_AFTER_SECONDS = 7;

/** Before the measuring: every key is seen once, which is what the round tells of; then the code is compiled. */
export async function warmUp({ child, pool, keys, connections = CONNECTIONS }: Side): Promise<Round> {
  const load = { port: child.port, pool, connections };
  const firstSeen = await runLoad({ ...load, pick: inTurn(keys, keys), seconds: Infinity });
  await runLoad({ ...load, pick: atRandom(keys), seconds: COMPILED_AFTER_SECONDS });
  return firstSeen;
}

async function measurePair(baseline: Side, subject: Side, seconds: number): Promise<Pair> {
  const first = await measureAlone(baseline, seconds * (baseline.times ?? 1));
  const second = await measureAlone(subject, seconds * (subject.times ?? 1));
  return { baseline: first, subject: second, foreign: Math.max(first.foreign, second.foreign) };
}

async function measureAlone(
  { child, pool, keys, connections = CONNECTIONS, databaseSeconds = () => 0 }: Side,
  seconds: number,
): Promise<MeasuredRound> {
  child.resume();
  const secondsNow = () => ({
    server: processorSeconds(child.pid),
    // What it does for the service is no disturbance.
    known: ownSeconds() + databaseSeconds(),
    machine: machineSeconds(),
    elapsed: performance.now() / 1000,
  });
  const before = secondsNow();
  const round = await runLoad({ port: child.port, pool, pick: atRandom(keys), connections, seconds });
  const after = secondsNow();
  child.pause();
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
    foreign: spreadOf(pairs.map(({ foreign }) => foreign)),
  };
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
