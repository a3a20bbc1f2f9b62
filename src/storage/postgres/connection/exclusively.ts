import { asUnavailable } from './databaseError.ts';
import type { Pool } from './pool.ts';

/** Any number, the same for all nodes: one node at a time holds this lock. */
const EXCLUSIVE_LOCK = 7_218_530_412;

/** Runs `work` on one node at a time. */
export function exclusively<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  return pool.use(async (ask) => {
    await asUnavailable(ask('BEGIN'));
    try {
      await asUnavailable(ask({ text: 'SELECT pg_advisory_xact_lock($1)', values: [EXCLUSIVE_LOCK] }));
      return await work();
    } finally {
      await ask('ROLLBACK').catch(() => {});
    }
  });
}
