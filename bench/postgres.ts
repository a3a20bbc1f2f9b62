import { PostgresServer } from '../cluster/postgres.ts';
import { Child } from './child.ts';
import { fillDatabase } from './fillDatabase.ts';
import { runLoad } from './load.ts';
import { compare, type Comparison, type Pace, type Side, warmUp } from './pairs.ts';
import { probe } from './probe.ts';
import { atRandom, type RequestPool } from './requests.ts';
import { median } from './statistics.ts';

/** Connections of a node: pool, lanes, local counts, polling, listening. */
const NODE_CONNECTIONS = 12;
const HOT_CONNECTIONS = 200;
const HOT_NODES = 3;
const IDLE_REQUESTS = 300;

export interface PostgresResult {
  readonly strict: Comparison;
  readonly local: Comparison;
  /** A strict verification against a guarded UPDATE for each request. */
  readonly guarded: Comparison;
  /** Median of one strict verification at a time, through that of one guarded UPDATE. */
  readonly idleRatio: number;
  /** All connections on one key through three nodes, through the same load on many keys. */
  readonly hotRatio: number;
}

/** One node, and three, on a PostgreSQL on the same machine that flushes every commit. */
export async function measurePostgres(pool: RequestPool, pace: Pace): Promise<PostgresResult> {
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const local = await measureAgainstBare(await fillDatabase(server, pool.count, 'local'), pool, pace);
  const strict = await measureAgainstBare(await fillDatabase(server, pool.count, 'strict'), pool, pace);
  const guarded = await measureGuarded(await fillDatabase(server, pool.count, 'credits'), pool, pace);
  const hotRatio = await measureHot(await fillDatabase(server, pool.count, 'credits'), pool, pace);
  return { local, strict, ...guarded, hotRatio };
}

async function measureAgainstBare(databaseUrl: string, pool: RequestPool, pace: Pace): Promise<Comparison> {
  const node = await Child.startNode({ databaseUrl });
  const bare = await Child.startBare(await probe(node.port));
  return comparing({ child: bare, pool, keys: pool.count }, { child: node, pool, keys: pool.count }, pace);
}

async function measureGuarded(
  databaseUrl: string,
  pool: RequestPool,
  pace: Pace,
): Promise<Pick<PostgresResult, 'guarded' | 'idleRatio'>> {
  const node = await Child.startNode({ databaseUrl });
  const order = { databaseUrl, keys: pool.count, connections: NODE_CONNECTIONS };
  const guarded = await Child.startGuarded({ ...(await probe(node.port)), ...order });
  const baseline: Side = { child: guarded, pool, keys: pool.count };
  const subject: Side = { child: node, pool, keys: pool.count };
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

async function comparing(baseline: Side, subject: Side, pace: Pace): Promise<Comparison> {
  for (const side of [baseline, subject]) await warmUp(side);
  const comparison = await compare(baseline, subject, pace);
  await Promise.all([baseline.child.stop(), subject.child.stop()]);
  return comparison;
}
