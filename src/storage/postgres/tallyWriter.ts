import { StorageOutcomeUnknown, StorageUnavailable } from '../port.ts';
import type { Statement } from '../sql/statement.ts';
import type { TallyWriter } from '../sql/tallies.ts';
import { asUnavailable, kindOf, reasonOf } from './failure.ts';
import type { Ask, Pool } from './pool.ts';

/** The number of the batch is written with it: one that is sent again, because its fate was not known, is not added twice. */
export class PostgresTallyWriter implements TallyWriter {
  readonly #pool: Pool;
  readonly #node: string;

  constructor(pool: Pool, node: string) {
    this.#pool = pool;
    this.#node = node;
  }

  async run(statements: readonly Statement[], batch: number): Promise<void> {
    await this.#pool.use((ask) => this.#runIn(ask, statements, batch));
  }

  async remove({ sql, params }: Statement): Promise<number> {
    return (await asUnavailable(this.#pool.query({ text: sql, values: params }))).rowCount ?? 0;
  }

  async #runIn(ask: Ask, statements: readonly Statement[], batch: number): Promise<void> {
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
}
