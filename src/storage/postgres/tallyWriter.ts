import { StorageOutcomeUnknown, StorageUnavailable } from '../port.ts';
import type { Statement } from '../sql/statement.ts';
import type { TallyWriter } from '../sql/tallies.ts';
import { COUNTS, LOG_COLUMNS } from '../sql/tallyColumns.ts';
import { asUnavailable, kindOf, reasonOf } from './failure.ts';
import type { Ask, Pool } from './pool.ts';
import { type FoldStep, foldStatements, type LogPlace } from './tallyFold.ts';

/** Any number, the same for all nodes: who holds it folds. */
const FOLD_LOCK = 7_218_530_413;
/** Rows of the log that are folded at once take a fraction of what a statement may; fewer where that was too many. */
const MAX_FOLD_ROWS = 5_000;
const MIN_FOLD_ROWS = 50;

/** Slices that become rows at once: the more, the fewer rows; fewer where that was too many. */
const MAX_UNPACK_SLICES = 1_000;

const APPEND = `
  WITH mark AS (
    INSERT INTO tally_marks AS t (node, batch, at_ms) VALUES ($1, $2, ledger_now_v1(NULL))
    ON CONFLICT (node) DO UPDATE SET batch = excluded.batch, at_ms = excluded.at_ms WHERE t.batch < excluded.batch
    RETURNING 1
  )
  INSERT INTO tally_slices (body) SELECT $3 FROM mark`;

const SLICE_LISTS = LOG_COLUMNS.map((column) => `jsonb_array_elements_text(body -> '${column}')`).join(', ');
const SLICE_SUMS = COUNTS.map((name) => `coalesce(sum(${name}::bigint), 0)`).join(', ');

/** Who comes second waits for the first, and takes what that one has left: the rows are locked in their order. */
const UNPACK = `
  WITH taken AS (
    DELETE FROM tally_slices WHERE number = ANY (ARRAY(SELECT number FROM tally_slices ORDER BY number LIMIT $1 FOR UPDATE))
    RETURNING body::jsonb AS body
  ), added AS (
    INSERT INTO tally_log (${LOG_COLUMNS.join(', ')})
    SELECT minute_ms::bigint, api_id, key_id, coalesce(identity_id, ''), coalesce(tags, ''), max(last_at_ms::bigint), ${SLICE_SUMS}
    FROM taken, ROWS FROM (${SLICE_LISTS}) AS t (${LOG_COLUMNS.join(', ')})
    GROUP BY 1, 2, 3, 4, 5
  )
  SELECT count(*)::int AS taken FROM taken`;

/** Before the first row of the log. */
const START: LogPlace = { key_id: '', number: 0 };

/** The number of the batch is written with it: one that is sent again, because its fate was not known, is not added twice. */
export class PostgresTallyWriter implements TallyWriter {
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

  async append(slice: string, batch: number): Promise<void> {
    await this.#pool.use(async (ask) => {
      try {
        await ask({ name: 'append_tallies', text: APPEND, values: [this.#node, batch, slice] });
      } catch (error) {
        const reason = reasonOf(error);
        if (kindOf(error) === 'lost') throw new StorageOutcomeUnknown(`The database did not answer (${reason}).`);
        throw new StorageUnavailable(`The database cannot be asked (${reason}).`);
      }
    });
  }

  async unpack(): Promise<boolean> {
    const limit = this.#unpackSlices;
    try {
      const { rows } = await asUnavailable(this.#pool.query<{ taken: number }>({ text: UNPACK, values: [limit] }));
      this.#unpackSlices = Math.min(MAX_UNPACK_SLICES, limit * 2);
      return (rows[0]?.taken ?? 0) < limit;
    } catch (error) {
      this.#unpackSlices = Math.max(1, Math.floor(limit / 2));
      throw error;
    }
  }

  /**
   * Slices at the start of a round, then from key to key: the more at once, the more rows of a key become one. One node at a
   * time; another one leaves it to that one.
   */
  async fold(): Promise<boolean> {
    this.#isUnpacked ||= await this.unpack();
    if (!this.#isUnpacked) return false;
    try {
      const step = await this.#nextStep();
      const isMine = step !== null && (await this.#pool.use((ask) => this.#foldIn(ask, foldStatements(step))));
      this.#foldedTo = isMine ? step.upTo : null;
      if (isMine) this.#foldRows = Math.min(MAX_FOLD_ROWS, this.#foldRows * 2);
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
   * All statements see the log as it was when the transaction began: what is removed from it is what was summed. If another
   * node has folded since, the removal of the same rows fails, and nothing of it is done: no row is folded twice, also
   * without the lock, which spares the work.
   */
  async #foldIn(ask: Ask, statements: readonly Statement[]): Promise<boolean> {
    try {
      await ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
      const { rows } = await ask<{ is_mine: boolean }>({
        text: 'SELECT pg_try_advisory_xact_lock($1) AS is_mine',
        values: [FOLD_LOCK],
      });
      const isMine = rows[0]?.is_mine === true;
      if (isMine) {
        // Of a table that is filled and emptied all the time the server knows nothing, and would read all of it each time.
        await ask('SET LOCAL enable_seqscan = off');
        for (const { sql, params } of statements) await ask({ text: sql, values: params });
      }
      await ask('COMMIT');
      return isMine;
    } catch (error) {
      if (kindOf(error) !== 'lost') await ask('ROLLBACK').catch(() => {});
      if (kindOf(error) === 'again') return false;
      throw new StorageUnavailable(`The database cannot be asked (${reasonOf(error)}).`);
    }
  }
}
