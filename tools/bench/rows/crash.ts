import { PostgresServer } from '../../cluster/postgres.ts';
import { Child } from '../child.ts';
import { addRootKey, API_ID, fillFolder, ROOT_KEY } from '../fill.ts';
import { fillDatabase } from '../fillDatabase.ts';
import { runLoad } from '../load.ts';
import { CONNECTIONS } from '../pairs.ts';
import { atRandom, type RequestPool } from '../requests.ts';
import { median } from '../statistics.ts';

/** When the process is killed, in seconds after its start. The moments differ, so that writing and summing are interrupted at different steps. */
const KILLED_AFTER_SECONDS = [40, 53, 66];

export interface CrashResult {
  readonly keys: number;
  readonly perSecond: number;
  /** Answered verifications that are missing in analytics, in seconds of the load: the worst of all kills. */
  readonly lostSeconds: number;
}

/** Measures how many counts are lost when the process is killed while all keys are in use. */
export async function measureCrash(folder: string, pool: RequestPool): Promise<CrashResult> {
  fillFolder(folder, pool.count, 'plain');
  addRootKey(folder);
  return measure(pool, () => Child.startService({ folder, addedFlushMs: 0 }));
}

/** The same for a node on PostgreSQL. */
export async function measureNodeCrash(pool: RequestPool): Promise<CrashResult> {
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const databaseUrl = await fillDatabase(server, pool.count, 'plain');
  return await measure(pool, () => Child.startNode({ databaseUrl }));
}

async function measure(pool: RequestPool, start: () => Promise<Child>): Promise<CrashResult> {
  let child = await start();
  let counted = await countedBy(child.port);
  const rounds: { readonly perSecond: number; readonly lostSeconds: number }[] = [];
  for (const seconds of KILLED_AFTER_SECONDS) {
    const load = { ports: [child.port], pool, pick: atRandom(pool.count), connections: CONNECTIONS, seconds };
    const { answers, perSecond } = await runLoad(load);
    await child.stop();
    child = await start();
    const after = await countedBy(child.port);
    rounds.push({ perSecond, lostSeconds: (answers - (after - counted)) / perSecond });
    counted = after;
  }
  await child.stop();
  const lostSeconds = Math.max(...rounds.map((round) => round.lostSeconds));
  return { keys: pool.count, perSecond: median(rounds.map(({ perSecond }) => perSecond)), lostSeconds };
}

async function countedBy(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/analytics.getVerifications?apiId=${API_ID}`, {
    headers: { authorization: `Bearer ${ROOT_KEY}` },
  });
  const [row] = (await response.json()) as [{ total: number }];
  return row.total;
}
