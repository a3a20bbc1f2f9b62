import { join } from 'node:path';

import { PostgresServer } from '../../cluster/postgres.ts';
import { Child } from '../child.ts';
import { fillFolder, type KeyShape, type KeysPerCustomer } from '../fill.ts';
import { fillDatabase } from '../fillDatabase.ts';
import { compareAndStop, type Comparison, joinComparisons, type Pace, type Side } from '../pairs.ts';
import { answersAgain, startNodes } from './postgres.ts';
import type { RequestPool } from '../requests.ts';

/** What a plan can bring to each verification. */
const SHAPES = ['local', 'credits', 'strict'] as const satisfies readonly KeyShape[];

/** The same code in another process can be a quarter slower for as long as that lives. */
const STARTS = 3;

export interface PlanResult {
  readonly where: 'embedded' | 'PostgreSQL, one node' | 'PostgreSQL, two nodes';
  /** Keys that each identity has. */
  readonly keysEach: 1 | 10;
  readonly shape: (typeof SHAPES)[number];
  /** Keys of identities on a plan, against keys that have the same counters themselves. */
  readonly comparison: Comparison;
}

/** All identities are on one plan. With one key each, a verification waits for the memory of two records instead of one. */
export async function measurePlans(folder: string, pool: RequestPool, pace: Pace): Promise<readonly PlanResult[]> {
  const results: PlanResult[] = [];
  for (const keysEach of [10, 1] as const) {
    for (const shape of SHAPES) {
      const folderOf = (each: KeysPerCustomer): string => join(folder, `${keysEach} ${shape} ${each}`);
      const start = async (each: KeysPerCustomer): Promise<Side> => {
        const child = await Child.startService({ folder: folderOf(each), addedFlushMs: 0 });
        return { children: [child], pool, keys: pool.count };
      };
      for (const each of [0, keysEach] as const) fillFolder(folderOf(each), pool.count, shape, each);
      const comparisons: Comparison[] = [];
      for (let i = 0; i < STARTS; i++) {
        comparisons.push(await compareAndStop(await start(0), await start(keysEach), pace));
      }
      results.push({ where: 'embedded', keysEach, shape, comparison: joinComparisons(comparisons) });
    }
  }
  return results;
}

export async function measurePlansOnPostgres(pool: RequestPool, pace: Pace): Promise<readonly PlanResult[]> {
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const results: PlanResult[] = [];
  for (const nodes of [1, 2]) {
    for (const shape of SHAPES) {
      const start = async (each: KeysPerCustomer): Promise<Side> => {
        const databaseUrl = await fillDatabase(server, pool.count, shape, each);
        const children = await startNodes(databaseUrl, nodes);
        const whenResumed = () => Promise.all(children.map(answersAgain));
        return { children, pool, keys: pool.count, whenResumed };
      };
      const comparison = await compareAndStop(await start(0), await start(1), pace);
      const where = nodes === 1 ? 'PostgreSQL, one node' : 'PostgreSQL, two nodes';
      results.push({ where, keysEach: 1, shape, comparison });
    }
  }
  return results;
}
