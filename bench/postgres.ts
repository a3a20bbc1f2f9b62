import { Client } from 'pg';

import { PostgresServer } from '../cluster/postgres.ts';
import { PostgresStorage } from '../src/storage/postgres/storage.ts';
import { Child } from './child.ts';
import type { KeyShape } from './fill.ts';
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
  const local = await measureAgainstBare(await fill(server, pool.count, 'local'), pool, pace);
  const strict = await measureAgainstBare(await fill(server, pool.count, 'strict'), pool, pace);
  const guarded = await measureGuarded(await fill(server, pool.count, 'credits'), pool, pace);
  const hotRatio = await measureHot(await fill(server, pool.count, 'credits'), pool, pace);
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

/** A database with `count` keys of one shape, as the service would have made them. */
async function fill(server: PostgresServer, count: number, shape: KeyShape): Promise<string> {
  const url = await server.createDatabase();
  const storage = await PostgresStorage.open({
    url,
    node: 'fill',
    location: 'fill',
    version: '0',
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
    random: Math.random,
    newWorkspaceId: () => 'ws_bench',
    poolSize: 2,
    maxWaiting: 10,
    idempotencyRetentionMs: 3_600_000,
    staleMaxMs: 1000,
    observe: { committed() {}, refused() {} },
  });
  await storage.close();
  const client = new Client({ connectionString: url });
  await client.connect();
  const limit = (account: string): string =>
    `'[{"name":"default","limit":1999999999,"durationMs":2592000000,"async":${shape === 'local'},"account":' || ${account} || '}]'`;
  const credits = shape === 'credits' ? `'{"account":' || i || ',"refill":null}'` : 'NULL';
  const limits = shape === 'credits' ? 'NULL' : limit(shape === 'strict' ? 'i' : `'null'`);
  await client.query(`INSERT INTO apis VALUES ('api_bench', 'bench', 0)`);
  await client.query(
    `INSERT INTO keys (id, api_id, secret_digest, start, enabled, credits, credits_account, limits, created_at_ms, revision)
     SELECT 'key_' || lpad(n::text, 22, '0'), 'api_bench',
       encode(sha256(convert_to('demo_' || lpad(n::text, 28, '0'), 'UTF8')), 'base64'), 'demo_', 1,
       ${credits}, ${shape === 'credits' ? 'i' : 'NULL::bigint'}, ${limits}, 0, 1
     FROM (SELECT n, n + 1 AS i FROM generate_series(0, $1::int - 1) n) s`,
    [count],
  );
  if (shape !== 'local') {
    await client.query(`INSERT INTO accounts SELECT i, $2, $3, 0, 0, 1 FROM generate_series(1, $1::int) i`, [
      count,
      shape === 'credits' ? 0 : 1,
      shape === 'credits' ? 2_000_000_000 : 0,
    ]);
  }
  await client.query('VACUUM ANALYZE');
  await client.end();
  return url;
}
