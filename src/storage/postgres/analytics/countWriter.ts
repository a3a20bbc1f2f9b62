import { CountColumns } from '../../../core/verificationCounts.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../../port/storage.ts';
import type { Statement } from '../../sql/query/statement.ts';
import type { CountWriter } from '../../sql/analytics/analytics.ts';
import { packCounts, sumByApi } from '../../sql/analytics/packedCounts.ts';
import type { Unfolded } from '../../sql/analytics/sumStatement.ts';
import { asUnavailable, isTold, kindOf, reasonOf } from '../connection/databaseError.ts';
import type { Pool } from '../connection/pool.ts';
import { PostgresFold } from './foldCounts.ts';
import { sliceSource } from './packedRows.ts';

const APPEND = `
  WITH mark AS (
    INSERT INTO count_marks AS t (node, batch, at_ms) VALUES ($1, $2, ledger_now_v1(NULL))
    ON CONFLICT (node) DO UPDATE SET batch = excluded.batch, at_ms = excluded.at_ms WHERE t.batch < excluded.batch
    RETURNING 1
  )
  INSERT INTO count_slices (apis, body) SELECT $3, $4 FROM mark`;

/** Writes the number of each batch together with its counts: a batch that is sent again is not added twice. */
export class PostgresCountWriter implements CountWriter {
  readonly #pool: Pool;
  readonly #node: string;
  readonly #fold: PostgresFold;

  constructor(pool: Pool, node: string) {
    this.#pool = pool;
    this.#node = node;
    this.#fold = new PostgresFold(pool);
  }

  async append(counts: CountColumns, batch: number): Promise<void> {
    const values = [this.#node, batch, packCounts(CountColumns.of(sumByApi(counts))), packCounts(counts)];
    try {
      await this.#pool.write({ name: 'append_counts', text: APPEND, values });
    } catch (error) {
      const reason = reasonOf(error);
      if (isTold(error)) throw error;
      if (kindOf(error) === 'lost') throw new StorageOutcomeUnknown(`The database did not answer (${reason}).`);
      throw new StorageUnavailable(`A database query failed (${reason}).`);
    }
  }

  async unfolded(): Promise<Unfolded> {
    return sliceSource;
  }

  fold(): Promise<boolean> {
    return this.#fold.step();
  }

  async remove({ sql, params }: Statement): Promise<number> {
    return (await asUnavailable(this.#pool.write({ text: sql, values: params }))).rowCount ?? 0;
  }
}
