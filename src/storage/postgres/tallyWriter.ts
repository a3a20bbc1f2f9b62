import { StorageOutcomeUnknown, StorageUnavailable } from '../port.ts';
import type { Statement } from '../sql/statement.ts';
import type { TallyWriter } from '../sql/tallies.ts';
import { asUnavailable, kindOf, reasonOf } from './failure.ts';
import type { Ask, Pool } from './pool.ts';

/** Any number, the same for all nodes: who holds it folds. */
const FOLD_LOCK = 7_218_530_413;

/** The number of the batch is written with it: one that is sent again, because its fate was not known, is not added twice. */
export class PostgresTallyWriter implements TallyWriter {
  readonly #pool: Pool;
  readonly #node: string;

  constructor(pool: Pool, node: string) {
    this.#pool = pool;
    this.#node = node;
  }

  async append(statements: readonly Statement[], batch: number): Promise<void> {
    await this.#pool.use((ask) => this.#appendIn(ask, statements, batch));
  }

  /** One node at a time; another one leaves it to that one. */
  fold(statements: readonly Statement[]): Promise<void> {
    return this.#pool.use((ask) => this.#foldIn(ask, statements));
  }

  async remove({ sql, params }: Statement): Promise<number> {
    return (await asUnavailable(this.#pool.query({ text: sql, values: params }))).rowCount ?? 0;
  }

  async #appendIn(ask: Ask, statements: readonly Statement[], batch: number): Promise<void> {
    try {
      await ask('BEGIN');
      const { rowCount } = await ask({
        text: `INSERT INTO tally_marks AS t (node, batch, at_ms) VALUES ($1, $2, ledger_now_v1(NULL))
          ON CONFLICT (node) DO UPDATE SET batch = excluded.batch, at_ms = excluded.at_ms WHERE t.batch < excluded.batch`,
        values: [this.#node, batch],
      });
      if (rowCount === 1) for (const { sql, params } of statements) await ask({ text: sql, values: params });
      await ask('COMMIT');
    } catch (error) {
      if (kindOf(error) === 'lost')
        throw new StorageOutcomeUnknown(`The database did not answer (${reasonOf(error)}).`);
      await ask('ROLLBACK').catch(() => {});
      throw new StorageUnavailable(`The database cannot be asked (${reasonOf(error)}).`);
    }
  }

  /**
   * All statements see the log as it was when the transaction began. If another node has folded since, the removal of the same
   * rows fails, and nothing of it is done: no row is folded twice, also without the lock, which spares the work.
   */
  async #foldIn(ask: Ask, statements: readonly Statement[]): Promise<void> {
    try {
      await ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
      const { rows } = await ask<{ is_mine: boolean }>({
        text: 'SELECT pg_try_advisory_xact_lock($1) AS is_mine',
        values: [FOLD_LOCK],
      });
      if (rows[0]?.is_mine === true) {
        // Of a table that is filled and emptied all the time the server knows nothing, and would read all of it each time.
        await ask('SET LOCAL enable_seqscan = off');
        for (const { sql, params } of statements) await ask({ text: sql, values: params });
      }
      await ask('COMMIT');
    } catch (error) {
      if (kindOf(error) !== 'lost') await ask('ROLLBACK').catch(() => {});
      if (kindOf(error) === 'again') return;
      throw new StorageUnavailable(`The database cannot be asked (${reasonOf(error)}).`);
    }
  }
}
