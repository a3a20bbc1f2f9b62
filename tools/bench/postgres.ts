import { PostgresServer } from '../cluster/postgres.ts';
import { Child } from './child.ts';
import type { KeyShape } from './fill.ts';
import { fillDatabase } from './fillDatabase.ts';
import { runLoad } from './load.ts';
import { compare, type Comparison, type Pace, SERVICE_TIMES, type Side, warmUp } from './pairs.ts';
import { probe } from './probe.ts';
import { familySeconds } from './process.ts';
import { atRandom, type RequestPool } from './requests.ts';
import { median } from './statistics.ts';

/** Connections of a node: pool, committers, local counts, polling, listening. */
const NODE_CONNECTIONS = 12;
const HOT_CONNECTIONS = 200;
const HOT_NODES = 3;
const IDLE_REQUESTS = 300;

/** The more wait at a time, the larger the batches of the ledger. */
export const CROWD_CONNECTIONS = 256;
/** Three programs on the same processors: single pairs differ by more than without a database. */
const PAIRS_FOR_ONE = 1.5;

export interface PostgresResult {
  readonly strict: Comparison;
  /** The same with four times as many connections on both sides. */
  readonly strictCrowd: Comparison;
  readonly local: Comparison;
  /** A strict verification against a guarded UPDATE for each request. */
  readonly guarded: Comparison;
  /** Median of one strict verification at a time, through that of one guarded UPDATE. */
  readonly idleRatio: number;
  /** All connections on one key through three nodes, through the same load on many keys. */
  readonly hotRatio: number;
}

/** One node, and three, on a PostgreSQL on the same machine that flushes every commit. */
export async function measurePostgres(pool: RequestPool, usual: Pace): Promise<PostgresResult> {
  const pace = { ...usual, rounds: Math.ceil(usual.rounds * PAIRS_FOR_ONE) };
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const fill = (shape: KeyShape) => fillDatabase(server, pool.count, shape);
  const parts = { pool, keys: pool.count, databaseSeconds: () => familySeconds(server.pid) };
  const local = await measureAgainstBare(await fill('local'), parts, pace);
  const strict = await measureAgainstBare(await fill('strict'), parts, pace);
  const crowd = { ...parts, connections: CROWD_CONNECTIONS };
  const strictCrowd = await measureAgainstBare(await fill('strict'), crowd, pace);
  const guarded = await measureGuarded(await fill('credits'), parts, pace);
  const hotRatio = await measureHot(await fill('credits'), pool, pace);
  return { local, strict, strictCrowd, ...guarded, hotRatio };
}

type SideParts = Omit<Side, 'child'>;

async function measureAgainstBare(databaseUrl: string, parts: SideParts, pace: Pace): Promise<Comparison> {
  const node = await Child.startNode({ databaseUrl });
  const bare = await Child.startBare(await probe(node.port));
  const subject: Side = { ...parts, child: node, times: SERVICE_TIMES };
  // The database does nothing for the other one.
  const baseline: Side = { ...parts, child: bare, databaseSeconds: () => 0 };
  for (const side of [baseline, subject]) await warmUp(side);
  const comparison = await compare(baseline, subject, pace);
  await Promise.all([bare.stop(), node.stop()]);
  return comparison;
}

async function measureGuarded(
  databaseUrl: string,
  parts: SideParts,
  pace: Pace,
): Promise<Pick<PostgresResult, 'guarded' | 'idleRatio'>> {
  const node = await Child.startNode({ databaseUrl });
  const order = { databaseUrl, keys: parts.keys, connections: NODE_CONNECTIONS };
  const guarded = await Child.startGuarded({ ...(await probe(node.port)), ...order });
  const [baseline, subject]: [Side, Side] = [
    { ...parts, child: guarded },
    { ...parts, child: node, times: SERVICE_TIMES },
  ];
  for (const side of [baseline, subject]) await warmUp(side);
  const ratios: number[] = [];
  for (let round = 0; round < pace.rounds; round++) {
    ratios.push((await idleMs(subject)) / (await idleMs(baseline)));
  }
  const comparison = await compare(baseline, subject, pace);
  await Promise.all([guarded.stop(), node.stop()]);
  return { guarded: comparison, idleRatio: median(ratios) };
}

/** The median of one request at a time. */
async function idleMs({ child, pool, keys }: Side): Promise<number> {
  let sent = 0;
  const random = atRandom(keys);
  const pick = (): number => (sent++ < IDLE_REQUESTS ? random() : -1);
  return (await runLoad({ port: child.port, pool, pick, connections: 1, seconds: Infinity })).p50Ms;
}

async function measureHot(databaseUrl: string, pool: RequestPool, pace: Pace): Promise<number> {
  const nodes = await Promise.all(Array.from({ length: HOT_NODES }, () => Child.startNode({ databaseUrl })));
  const rate = async (keys: number, seconds: number): Promise<number> => {
    const connections = Math.ceil(HOT_CONNECTIONS / HOT_NODES);
    const rounds = nodes.map(({ port }) => runLoad({ port, pool, pick: atRandom(keys), connections, seconds }));
    return (await Promise.all(rounds)).reduce((sum, { perSecond }) => sum + perSecond, 0);
  };
  for (const keys of [pool.count, 1]) await rate(keys, 3);
  const ratios: number[] = [];
  for (let round = 0; round < pace.rounds; round++) {
    const spread = await rate(pool.count, pace.secondsPerRound);
    ratios.push((await rate(1, pace.secondsPerRound)) / spread);
  }
  await Promise.all(nodes.map((node) => node.stop()));
  return median(ratios);
}
