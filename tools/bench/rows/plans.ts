import { join } from 'node:path';

import { PostgresServer } from '../../cluster/postgres.ts';
import { Child } from '../child.ts';
import { fillFolder, type KeyShape } from '../fill.ts';
import { fillDatabase } from '../fillDatabase.ts';
import { compareAndStop, type Comparison, type Pace, type Side } from '../pairs.ts';
import { answersAgain, startNodes } from './postgres.ts';
import type { RequestPool } from '../requests.ts';

/** What a plan can bring to each verification. */
const SHAPES = ['local', 'credits', 'strict'] as const satisfies readonly KeyShape[];

export interface PlanResult {
  readonly where: 'embedded' | 'PostgreSQL, one node' | 'PostgreSQL, two nodes';
  readonly shape: (typeof SHAPES)[number];
  /** Keys of identities on a plan, against keys that have the same counters themselves. */
  readonly comparison: Comparison;
}

/** Every key belongs to an identity of its own, and all identities are on one plan. */
export async function measurePlans(folder: string, pool: RequestPool, pace: Pace): Promise<readonly PlanResult[]> {
  const results: PlanResult[] = [];
  for (const shape of SHAPES) {
    const start = async (isOnPlan: boolean): Promise<Side> => {
      const data = join(folder, `${shape} ${isOnPlan}`);
      fillFolder(data, pool.count, shape, isOnPlan);
      return { children: [await Child.startService({ folder: data, addedFlushMs: 0 })], pool, keys: pool.count };
    };
    const comparison = await compareAndStop(await start(false), await start(true), pace);
    results.push({ where: 'embedded', shape, comparison });
  }
  return results;
}

export async function measurePlansOnPostgres(pool: RequestPool, pace: Pace): Promise<readonly PlanResult[]> {
  await using server = await PostgresServer.start({ durable: true, settings: { shared_buffers: '256MB' } });
  const results: PlanResult[] = [];
  for (const nodes of [1, 2]) {
    for (const shape of SHAPES) {
      const start = async (isOnPlan: boolean): Promise<Side> => {
        const databaseUrl = await fillDatabase(server, pool.count, shape, isOnPlan);
        const children = await startNodes(databaseUrl, nodes);
        const whenResumed = () => Promise.all(children.map(answersAgain));
        return { children, pool, keys: pool.count, whenResumed };
      };
      const comparison = await compareAndStop(await start(false), await start(true), pace);
      results.push({ where: nodes === 1 ? 'PostgreSQL, one node' : 'PostgreSQL, two nodes', shape, comparison });
    }
  }
  return results;
}
