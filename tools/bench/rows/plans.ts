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
      const comparison = await compareStarts(
        () => start(0),
        () => start(keysEach),
        pace,
      );
      results.push({ where: 'embedded', keysEach, shape, comparison });
    }
  }
  return results;
}

export async function measurePlansOnPostgres(pool: RequestPool, pace: Pace): Promise<readonly PlanResult[]> {
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const results: PlanResult[] = [];
  for (const nodes of [1, 2]) {
    for (const shape of SHAPES) {
      const plain = await fillDatabase(server, pool.count, shape, 0);
      const onPlan = await fillDatabase(server, pool.count, shape, 1);
      const start = async (databaseUrl: string): Promise<Side> => {
        const children = await startNodes(databaseUrl, nodes);
        const whenResumed = () => Promise.all(children.map(answersAgain));
        return { children, pool, keys: pool.count, whenResumed };
      };
      const comparison = await compareStarts(
        () => start(plain),
        () => start(onPlan),
        pace,
      );
      const where = nodes === 1 ? 'PostgreSQL, one node' : 'PostgreSQL, two nodes';
      results.push({ where, keysEach: 1, shape, comparison });
    }
  }
  return results;
}

async function compareStarts(base: () => Promise<Side>, other: () => Promise<Side>, pace: Pace): Promise<Comparison> {
  const comparisons: Comparison[] = [];
  for (let i = 0; i < STARTS; i++) comparisons.push(await compareAndStop(await base(), await other(), pace));
  return joinComparisons(comparisons);
}
