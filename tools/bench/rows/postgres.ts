import { PostgresServer } from '../../cluster/postgres.ts';
import { until } from '../../cluster/wait.ts';
import { Child } from '../child.ts';
import type { KeyShape } from '../fill.ts';
import { fillDatabase } from '../fillDatabase.ts';
import { runLoad } from '../load.ts';
import { compare, type Comparison, type Pace, SERVICE_TIMES, type Side, warmUp } from '../pairs.ts';
import { probe } from '../probe.ts';
import { familySeconds } from '../process.ts';
import { atRandom, type RequestPool } from '../requests.ts';
import { median } from '../statistics.ts';

/** Connections of a node to PostgreSQL: the pool, the committers, local counts, polling and notifications. */
const NODE_CONNECTIONS = 12;
const HOT_CONNECTIONS = 200;
const HOT_NODES = 3;
const IDLE_REQUESTS = 300;

/** More connections make larger batches of the ledger. */
export const CROWD_CONNECTIONS = 256;
/** Single pairs vary more with a database on the same processors, so this many times the usual pairs are measured. */
const ROUNDS_FACTOR = 1.5;

/** Requests per second against the bare handler, for one node and for two nodes with half of the connections each. */
export interface NodeRows {
  readonly local: Comparison;
  readonly strict: Comparison;
  readonly credits: Comparison;
}

export interface PostgresResult {
  readonly oneNode: NodeRows;
  readonly twoNodes: NodeRows;
  /** One node with strict limits, with four times as many connections on both sides. */
  readonly strictCrowd: Comparison;
  /** One node with credits against one guarded UPDATE for each request. */
  readonly guarded: Comparison;
  /** Median time of one verification at a time with credits, divided by that of one guarded UPDATE. */
  readonly idleRatio: number;
  /** Answers per second when all connections use one key through three nodes, divided by those with many keys. */
  readonly hotRatio: number;
}

/** Measures one, two and three nodes on a PostgreSQL on the same machine that flushes every commit. */
export async function measurePostgres(pool: RequestPool, usual: Pace): Promise<PostgresResult> {
  const pace = { ...usual, rounds: Math.ceil(usual.rounds * ROUNDS_FACTOR) };
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const fill = (shape: KeyShape) => fillDatabase(server, pool.count, shape);
  const load = { pool, keys: pool.count, databaseSeconds: () => familySeconds(server.pid) };
  const measureNodes = async (nodes: number): Promise<NodeRows> => ({
    local: await measureAgainstBare(await fill('local'), nodes, load, pace),
    strict: await measureAgainstBare(await fill('strict'), nodes, load, pace),
    credits: await measureAgainstBare(await fill('credits'), nodes, load, pace),
  });
  const oneNode = await measureNodes(1);
  const twoNodes = await measureNodes(2);
  const crowd = { ...load, connections: CROWD_CONNECTIONS };
  const strictCrowd = await measureAgainstBare(await fill('strict'), 1, crowd, pace);
  const guarded = await measureGuarded(await fill('credits'), load, pace);
  const hotRatio = await measureHot(await fill('credits'), pool, pace);
  return { oneNode, twoNodes, strictCrowd, ...guarded, hotRatio };
}

type SideLoad = Omit<Side, 'children'>;

async function measureAgainstBare(
  databaseUrl: string,
  nodeCount: number,
  load: SideLoad,
  pace: Pace,
): Promise<Comparison> {
  const nodes = await startNodes(databaseUrl, nodeCount);
  const bare = await Child.startBare(await probe(nodes[0].port));
  // The cache of a node that was stopped for longer than KEYSTILE_STALE_MAX is stale. A round begins when all nodes answer.
  const whenResumed = () => Promise.all(nodes.map(answersAgain));
  const subject: Side = { ...load, children: nodes, times: SERVICE_TIMES, ...(nodeCount > 1 && { whenResumed }) };
  // The database does no work for the bare handler.
  const baseline: Side = { ...load, children: [bare], databaseSeconds: () => 0 };
  for (const side of [baseline, subject]) await warmUp(side);
  const comparison = await compare(baseline, subject, pace);
  await Promise.all([bare, ...nodes].map((child) => child.stop()));
  return comparison;
}

export function answersAgain({ port }: Child): Promise<void> {
  const isAnswering = () =>
    probe(port).then(
      () => true,
      () => false,
    );
  return until('a node answers after a pause', isAnswering);
}

export async function startNodes(databaseUrl: string, count: number, Nodes = Child): Promise<[Child, ...Child[]]> {
  const first = await Nodes.startNode({ databaseUrl });
  const others = Array.from({ length: count - 1 }, () => Nodes.startNode({ databaseUrl }));
  return [first, ...(await Promise.all(others))];
}

async function measureGuarded(
  databaseUrl: string,
  load: SideLoad,
  pace: Pace,
): Promise<Pick<PostgresResult, 'guarded' | 'idleRatio'>> {
  const node = await Child.startNode({ databaseUrl });
  const order = { databaseUrl, keys: load.keys, connections: NODE_CONNECTIONS };
  const guarded = await Child.startGuarded({ ...(await probe(node.port)), ...order });
  const [baseline, subject]: [Side, Side] = [
    { ...load, children: [guarded] },
    { ...load, children: [node], times: SERVICE_TIMES },
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

/** The median time of a request when only one is in flight. */
async function idleMs({ children: [{ port }], pool, keys }: Side): Promise<number> {
  let sent = 0;
  const random = atRandom(keys);
  const pick = (): number => (sent++ < IDLE_REQUESTS ? random() : -1);
  return (await runLoad({ ports: [port], pool, pick, connections: 1, seconds: Infinity })).p50Ms;
}

async function measureHot(databaseUrl: string, pool: RequestPool, pace: Pace): Promise<number> {
  const nodes = await startNodes(databaseUrl, HOT_NODES);
  const ports = nodes.map(({ port }) => port);
  const rate = async (keys: number, seconds: number): Promise<number> =>
    (await runLoad({ ports, pool, pick: atRandom(keys), connections: HOT_CONNECTIONS, seconds })).perSecond;
  for (const keys of [pool.count, 1]) await rate(keys, 3);
  const ratios: number[] = [];
  for (let round = 0; round < pace.rounds; round++) {
    const spread = await rate(pool.count, pace.secondsPerRound);
    ratios.push((await rate(1, pace.secondsPerRound)) / spread);
  }
  await Promise.all(nodes.map((node) => node.stop()));
  return median(ratios);
}
