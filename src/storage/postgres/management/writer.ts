import type { SqlWriter, WriteStatement } from '../../sql/query/statement.ts';
import { asUnavailable, kindOf } from '../connection/databaseError.ts';
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
          await ask('BEGIN');
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
          if (isRefused || kindOf(error) !== 'lost') await ask('ROLLBACK').catch(() => {});
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
