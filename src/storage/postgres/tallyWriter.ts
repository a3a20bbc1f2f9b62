import { StorageOutcomeUnknown, StorageUnavailable } from '../port.ts';
import type { Statement } from '../sql/statement.ts';
import type { TallyWriter } from '../sql/tallies.ts';
import type { FoldStep } from '../sql/tallyFold.ts';
import { asUnavailable, kindOf, reasonOf } from './failure.ts';
import type { Ask, Pool } from './pool.ts';

/** Any number, the same for all nodes: who holds it folds. */
const FOLD_LOCK = 7_218_530_413;
/** Rows of the log that are folded at once take a fraction of what a statement may; fewer where that was too many. */
const MAX_FOLD_ROWS = 5_000;
const MIN_FOLD_ROWS = 50;

/** A row of the log. */
interface LogPlace {
  readonly key_id: string;
  readonly number: number;
}

const START: LogPlace = { key_id: '', number: 0 };

/** The number of the batch is written with it: one that is sent again, because its fate was not known, is not added twice. */
export class PostgresTallyWriter implements TallyWriter {
  readonly #pool: Pool;
  readonly #node: string;
  #foldRows = MAX_FOLD_ROWS;
  /** The last row that this round has come to. */
  #foldedTo = START;

  constructor(pool: Pool, node: string) {
    this.#pool = pool;
    this.#node = node;
  }

  async append(statements: readonly Statement[], batch: number): Promise<void> {
    await this.#pool.use((ask) => this.#appendIn(ask, statements, batch));
  }

  /** From key to key: the longer the log, the more rows of a key become one. */
  async nextStep(): Promise<FoldStep | null> {
    const after = this.#foldedTo;
    const behind = 'SELECT key_id, number FROM tally_log WHERE (key_id, number) > ($1, $2) ORDER BY key_id, number';
    const { rows } = await asUnavailable(
      this.#pool.query<LogPlace & Record<string, unknown>>({
        text: `(${behind} LIMIT 1) UNION ALL (${behind} LIMIT 1 OFFSET $3)`,
        values: [after.key_id, after.number, this.#foldRows],
      }),
    );
    const [first, last] = rows;
    this.#foldedTo = last ?? START;
    if (first === undefined) return null;
    const [where, params] = ['(key_id, number) > ($1, $2)', [after.key_id, after.number]];
    if (last === undefined) return { where, params, isLast: true };
    const upTo = `${where} AND (key_id, number) <= ($3, $4)`;
    return { where: upTo, params: [...params, last.key_id, last.number], isLast: false };
  }

  /** One node at a time; another one leaves it to that one. */
  async fold(statements: readonly Statement[]): Promise<boolean> {
    try {
      const isMine = await this.#pool.use((ask) => this.#foldIn(ask, statements));
      if (isMine) this.#foldRows = Math.min(MAX_FOLD_ROWS, this.#foldRows * 2);
      else this.#foldedTo = START;
      return isMine;
    } catch (error) {
      this.#foldedTo = START;
      this.#foldRows = Math.max(MIN_FOLD_ROWS, Math.floor(this.#foldRows / 2));
      throw error;
    }
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
