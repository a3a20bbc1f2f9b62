import type { Child } from './child.ts';
import { type Round, runLoad } from './load.ts';
import { processorSeconds } from './process.ts';
import { atRandom, inTurn, type RequestPool } from './requests.ts';
import { median, type Spread, spreadOf } from './statistics.ts';

export const CONNECTIONS = 64;

export interface Side {
  readonly child: Child;
  readonly pool: RequestPool;
  /** Keys of the pool that are picked from: the first so many. */
  readonly keys: number;
}

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
}

type MeasuredRound = Round & { readonly busy: number };

/**
 * Rounds in turn: baseline, subject, baseline, subject. The speed of a shared machine drifts within seconds, so only
 * neighbours are compared. The side that is not measured is stopped by the operating system: work that a server puts
 * off (folding, saving, collecting garbage) is paid in its own rounds and never in those of the other.
 */
export async function compare(baseline: Side, subject: Side, pace: Pace): Promise<Comparison> {
  for (const side of [baseline, subject]) side.child.pause();
  const pairs: { baseline: MeasuredRound; subject: MeasuredRound }[] = [];
  for (let i = 0; i < pace.rounds; i++) {
    pairs.push({
      baseline: await measureAlone(baseline, pace.secondsPerRound),
      subject: await measureAlone(subject, pace.secondsPerRound),
    });
  }
  return {
    baseline: summarize(pairs.map((pair) => pair.baseline)),
    subject: summarize(pairs.map((pair) => pair.subject)),
    ratio: spreadOf(pairs.map((pair) => pair.subject.perSecond / pair.baseline.perSecond)),
    p99Ratio: spreadOf(pairs.map((pair) => pair.subject.p99Ms / pair.baseline.p99Ms)),
  };
}

/** Before the measuring: the code is compiled, and no key is seen for the first time in a measured round. */
export async function warmUp({ child, pool, keys }: Side, requests = keys): Promise<Round> {
  const pick = inTurn(keys, requests);
  return runLoad({ port: child.port, pool, pick, connections: CONNECTIONS, seconds: Infinity });
}

async function measureAlone({ child, pool, keys }: Side, seconds: number): Promise<MeasuredRound> {
  child.resume();
  const before = processorSeconds(child.pid);
  const round = await runLoad({ port: child.port, pool, pick: atRandom(keys), connections: CONNECTIONS, seconds });
  const busy = (processorSeconds(child.pid) - before) / round.seconds;
  child.pause();
  return { ...round, busy };
}

function summarize(rounds: readonly MeasuredRound[]): SideResult {
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
    answerBytes: median(rounds.map(({ meanAnswerBytes }) => meanAnswerBytes)),
    busy: median(rounds.map(({ busy }) => busy)),
  };
}
