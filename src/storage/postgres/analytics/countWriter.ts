import type { CountColumns } from '../../../core/verificationCounts.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../../port/storage.ts';
import type { Statement } from '../../sql/statement.ts';
import type { CountWriter } from '../../sql/analytics/analytics.ts';
import { COUNTS, LOG_COLUMNS } from '../../sql/analytics/countColumns.ts';
import { packCounts } from '../../sql/analytics/packedCounts.ts';
import type { Unfolded } from '../../sql/analytics/sumStatement.ts';
import { asUnavailable, kindOf, reasonOf } from '../connection/databaseError.ts';
import type { Ask, Pool } from '../connection/pool.ts';
import { type FoldStep, foldStatements, type LogPlace } from './foldCounts.ts';
import { packApis, rowsOfSlices, sliceSource } from './packedRows.ts';

/** Any number, the same for all nodes: who holds it folds. */
const FOLD_LOCK = 7_218_530_413;
/** Rows of the log that are folded at once: a step is to be short, spends wait beside it. Fewer where that was too many. */
const MAX_FOLD_ROWS = 1_000;
const MIN_FOLD_ROWS = 50;

/** Slices that become rows at once: the more, the fewer rows; fewer where that was too many, then slowly more again. */
const MAX_UNPACK_SLICES = 1_000;
const UNPACK_GROWTH = 50;

const APPEND = `
  WITH mark AS (
    INSERT INTO tally_marks AS t (node, batch, at_ms) VALUES ($1, $2, ledger_now_v1(NULL))
    ON CONFLICT (node) DO UPDATE SET batch = excluded.batch, at_ms = excluded.at_ms WHERE t.batch < excluded.batch
    RETURNING 1
  )
  INSERT INTO tally_slices (apis, body) SELECT $3, $4 FROM mark`;

const UNPACK = `
  WITH taken AS (
    DELETE FROM tally_slices WHERE number IN (SELECT number FROM tally_slices ORDER BY number LIMIT $1)
    RETURNING body::jsonb AS slice
  ), added AS (
    INSERT INTO tally_log (${LOG_COLUMNS.join(', ')})
    SELECT minute_ms, api_id, key_id, identity_id, tags, max(last_at_ms), ${COUNTS.map((name) => `sum(${name})`).join(', ')}
    FROM (${rowsOfSlices('SELECT slice FROM taken')}) r GROUP BY minute_ms, api_id, key_id, identity_id, tags
  )
  SELECT count(*)::int AS taken FROM taken`;

/** Before the first row of the log. */
const START: LogPlace = { key_id: '', number: 0 };

/** The number of the batch is written with it: one that is sent again, because its fate was not known, is not added twice. */
export class PostgresCountWriter implements CountWriter {
  readonly #pool: Pool;
  readonly #node: string;
  #unpackSlices = MAX_UNPACK_SLICES;
  #foldRows = MAX_FOLD_ROWS;
  /** The slices that there were at the start of this round are in the log. */
  #isUnpacked = false;
  /** The last row that this round has come to; null between two rounds. */
  #foldedTo: LogPlace | null = null;

  constructor(pool: Pool, node: string) {
    this.#pool = pool;
    this.#node = node;
  }

  async append(counts: CountColumns, batch: number): Promise<void> {
    const values = [this.#node, batch, packApis(counts), packCounts(counts)];
    await this.#pool.use(async (ask) => {
      try {
        await ask({ name: 'append_counts', text: APPEND, values });
      } catch (error) {
        const reason = reasonOf(error);
        if (kindOf(error) === 'lost') throw new StorageOutcomeUnknown(`The database did not answer (${reason}).`);
        throw new StorageUnavailable(`The database cannot be asked (${reason}).`);
      }
    });
  }

  async unfolded(): Promise<Unfolded> {
    return (named) => ['tally_log', sliceSource(named)];
  }

  /**
   * Slices at the start of a round, then from key to key: the more at once, the more rows of a key become one. One node at a
   * time; another one leaves it to that one.
   */
  async fold(): Promise<boolean> {
    if (this.#isUnpacked) return this.#foldStep();
    const taken = await this.#unpack();
    if (taken === 'some') return false;
    this.#isUnpacked = taken === 'all';
    return this.#isUnpacked ? this.#foldStep() : true;
  }

  /** Slices become rows of the log, one for each subject and minute. */
  async #unpack(): Promise<'some' | 'all' | 'not mine'> {
    const limit = this.#unpackSlices;
    try {
      const result = await this.#alone((ask) => ask<{ taken: number }>({ text: UNPACK, values: [limit] }));
      if (result === null) return 'not mine';
      this.#unpackSlices = Math.min(MAX_UNPACK_SLICES, limit + UNPACK_GROWTH);
      return (result.rows[0]?.taken ?? 0) < limit ? 'all' : 'some';
    } catch (error) {
      this.#unpackSlices = Math.max(1, Math.floor(limit / 2));
      throw error;
    }
  }

  async #foldStep(): Promise<boolean> {
    try {
      const step = await this.#nextStep();
      const isDone = step !== null && (await this.#alone((ask) => foldIn(ask, step))) !== null;
      this.#foldedTo = isDone ? step.upTo : null;
      if (isDone) this.#foldRows = Math.min(MAX_FOLD_ROWS, this.#foldRows * 2);
      this.#isUnpacked = this.#foldedTo !== null;
      return this.#foldedTo === null;
    } catch (error) {
      this.#foldedTo = null;
      this.#foldRows = Math.max(MIN_FOLD_ROWS, Math.floor(this.#foldRows / 2));
      throw error;
    }
  }

  /** The rows behind the last ones; null = none. */
  async #nextStep(): Promise<FoldStep | null> {
    const after = this.#foldedTo ?? START;
    const behind = 'SELECT key_id, number FROM tally_log WHERE (key_id, number) > ($1, $2) ORDER BY key_id, number';
    const { rows } = await asUnavailable(
      this.#pool.query<LogPlace & Record<string, unknown>>({
        text: `(${behind} LIMIT 1) UNION ALL (${behind} LIMIT 1 OFFSET $3)`,
        values: [after.key_id, after.number, this.#foldRows],
      }),
    );
    const [first, last] = rows;
    return first === undefined ? null : { after, upTo: last ?? null };
  }

  async remove({ sql, params }: Statement): Promise<number> {
    return (await asUnavailable(this.#pool.query({ text: sql, values: params }))).rowCount ?? 0;
  }

  /**
   * A transaction whose statements see slices and log as they were when it began: what is removed is what was summed. If
   * another node has removed the same since, this removal fails, and nothing of it is done: nothing is taken twice, also without
   * the lock, which spares the work. null: another node is at it.
   */
  #alone<T>(work: (ask: Ask) => Promise<T>): Promise<T | null> {
    return this.#pool.use(async (ask) => {
      try {
        await ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
        const { rows } = await ask<{ is_mine: boolean }>({
          text: 'SELECT pg_try_advisory_xact_lock($1) AS is_mine',
          values: [FOLD_LOCK],
        });
        const result = rows[0]?.is_mine === true ? await work(ask) : null;
        await ask('COMMIT');
        return result;
      } catch (error) {
        if (kindOf(error) !== 'lost') await ask('ROLLBACK').catch(() => {});
        if (kindOf(error) === 'again') return null;
        throw new StorageUnavailable(`The database cannot be asked (${reasonOf(error)}).`);
      }
    });
  }
}

async function foldIn(ask: Ask, step: FoldStep): Promise<void> {
  // Of a table that is filled and emptied all the time the server knows nothing, and would read all of it each time.
  await ask('SET LOCAL enable_seqscan = off');
  for (const { sql, params } of foldStatements(step)) await ask({ text: sql, values: params });
}
