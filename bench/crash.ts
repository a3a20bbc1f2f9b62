import { PostgresServer } from '../cluster/postgres.ts';
import { Child } from './child.ts';
import { addRootKey, API_ID, fillFolder, ROOT_KEY } from './fill.ts';
import { fillDatabase } from './fillDatabase.ts';
import { runLoad } from './load.ts';
import { CONNECTIONS } from './pairs.ts';
import { atRandom, type RequestPool } from './requests.ts';

/** Longer than writing the counts of all keys takes. */
const SECONDS = 90;

export interface CrashResult {
  readonly keys: number;
  readonly perSecond: number;
  /** Verifications that were answered and are counted nowhere, as seconds of the load. */
  readonly lostSeconds: number;
}

/** How much of the analytics is lost when the process is killed while all keys are in use. */
export async function measureCrash(folder: string, pool: RequestPool): Promise<CrashResult> {
  fillFolder(folder, pool.count, 'plain');
  addRootKey(folder);
  return measure(pool, () => Child.startService({ folder, addedFlushMs: 0 }));
}

/** The same of a node on PostgreSQL. */
export async function measureNodeCrash(pool: RequestPool): Promise<CrashResult> {
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const databaseUrl = await fillDatabase(server, pool.count, 'plain');
  return await measure(pool, () => Child.startNode({ databaseUrl }));
}

async function measure(pool: RequestPool, start: () => Promise<Child>): Promise<CrashResult> {
  const killed = await start();
  const pick = atRandom(pool.count);
  const load = { port: killed.port, pool, pick, connections: CONNECTIONS, seconds: SECONDS };
  const { answers, perSecond } = await runLoad(load);
  await killed.stop();
  const after = await start();
  const lost = answers - (await countedBy(after.port));
  await after.stop();
  return { keys: pool.count, perSecond, lostSeconds: lost / perSecond };
}

async function countedBy(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/analytics.getVerifications?apiId=${API_ID}`, {
    headers: { authorization: `Bearer ${ROOT_KEY}` },
  });
  const [row] = (await response.json()) as [{ total: number }];
  return row.total;
}
