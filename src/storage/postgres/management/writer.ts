import type { SqlWriter, WriteStatement } from '../../sql/query/statement.ts';
import { asUnavailable, isTold, kindOf } from '../connection/databaseError.ts';
import { IS_MOVED, refuseMoved, SHARE_MOVE_LOCK } from '../connection/movedFence.ts';
import type { Pool } from '../connection/pool.ts';

/** A statement changed another number of rows than it must. */
class Refused extends Error {}

export class PostgresWriter implements SqlWriter {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  write(statements: readonly WriteStatement[]): Promise<readonly number[] | null> {
    return asUnavailable(
      this.#pool.use(async (ask) => {
        try {
          const begun = await ask(`BEGIN; ${SHARE_MOVE_LOCK}; SELECT ${IS_MOVED} AS moved`);
          // Several statements, several results; the type of the driver knows of one.
          refuseMoved((begun as unknown as readonly { rows: { moved: boolean }[] }[]).at(-1)?.rows[0]?.moved);
          const counts: number[] = [];
          for (const { sql, onPostgres, params, expects } of statements) {
            const { rowCount } = await ask({ text: onPostgres ?? sql, values: params });
            if (expects !== null && rowCount !== expects) throw new Refused();
            counts.push(rowCount ?? 0);
          }
          await ask('COMMIT');
          return counts;
        } catch (error) {
          const isRefused = error instanceof Refused || kindOf(error) === 'refused';
          if (isRefused || isTold(error) || kindOf(error) !== 'lost') await ask('ROLLBACK').catch(() => {});
          if (isRefused) return null;
          throw error;
        }
      }),
    );
  }

  /** A transaction of its own: one that held several rows could end in a deadlock with a change of them all. */
  async share(statement: WriteStatement): Promise<number> {
    return (await this.write([statement]))?.[0] ?? 0;
  }
}
