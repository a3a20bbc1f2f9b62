import { CountColumns } from '../../core/verificationCounts.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../port/storage.ts';
import { asUnavailable, isStorageError, kindOf, reasonOf } from './connection/databaseError.ts';
import type { Pool, Ask } from './connection/pool.ts';
import type { CountWriter } from '../sql/analytics/analytics.ts';
import { CODES, memberOf, TOTALS, LOG_COLUMNS } from '../sql/analytics/countColumns.ts';
import { type Named, type Unfolded, foldStatements, logStatements } from '../sql/analytics/fold.ts';
import { packCounts, sumByApi, type CountSlice, LogRows } from '../sql/analytics/packedCounts.ts';
import type { Statement } from '../sql/query/statement.ts';

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
      if (isStorageError(error)) throw error;
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

/** With at most this many names, slices that contain none of them are skipped. Searching for more takes longer than reading. */
const MAX_LOOKED_FOR = 20;

/** The columns of a slice's lists. */
const NAMES = ['minute_ms', 'api', 'key_id', 'identity_id', 'tags', 'last_at_ms', 'credits'];
const COLUMNS = [...NAMES, ...CODES].join(', ');
const MEMBERS = [...NAMES, ...CODES.map((_, code) => memberOf(code))];
const LISTS = MEMBERS.map((member) => `jsonb_array_elements_text(slice -> '${member}')`).join(', ');
/** Evaluated once for each slice: otherwise the JSON would be parsed for each row. */
const HEADS = "slice, (slice ->> 'from_ms')::bigint AS from_ms, slice -> 'apis' AS apis";
const VALUES = [
  "from_ms + coalesce(minute_ms, '0')::bigint AS minute_ms",
  "apis ->> coalesce(api, '0')::int AS api_id",
  'key_id',
  "coalesce(identity_id, '') AS identity_id",
  "coalesce(tags, '') AS tags",
  'from_ms + last_at_ms::bigint AS last_at_ms',
  ...TOTALS.map((name) => `coalesce(${name}, '0')::bigint AS ${name}`),
].join(', ');

/** Turns a query with the column `slice` into rows with TOTALS. */
function rowsOfSlices(slices: string): string {
  return `SELECT ${VALUES} FROM (SELECT ${HEADS} FROM (${slices}) t OFFSET 0) s, ROWS FROM (${LISTS}) AS l (${COLUMNS})`;
}

/** A question reads slices as they are: it writes nothing and waits for no lock. */
function sliceSource({ isOfApi, keys, identities }: Named): string {
  if (isOfApi) return `(${rowsOfSlices('SELECT apis::jsonb AS slice FROM count_slices OFFSET 0')}) a`;
  const holds = [keys, identities].filter((named) => named !== null && named.length <= MAX_LOOKED_FOR);
  const where = holds.map((named) => `(${named?.map((name) => `strpos(body, ${name}) > 0`).join(' OR ') || 'FALSE'})`);
  const filter = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`;
  return `(${rowsOfSlices(`SELECT body::jsonb AS slice FROM count_slices${filter} OFFSET 0`)}) k`;
}

/** Key of the advisory lock that the folding node holds: any number, the same for all nodes of all versions. */
export const FOLD_LOCK = 7_218_530_413;

/** Slices that become rows of the log in one transaction. After a failed transaction, the next one has half the size. */
const MAX_UNPACK_SLICES = 1_000;
const UNPACK_GROWTH = 50;
/** A transaction with more rows than this takes no further slices. */
const MAX_UNPACK_ROWS = 20_000;
/** Slices that are read at once. This node answers no request while it adds them up. */
const SLICES_PER_READ = 10;

/** Rows of the log that are folded in one transaction. It is short, because spends run at the same time on this database. */
const MAX_FOLD_ROWS = 1_000;
const MIN_FOLD_ROWS = 50;

const SLICES = 'SELECT number, body FROM count_slices WHERE number > $1 ORDER BY number LIMIT $2';
const LOG = `SELECT number, ${LOG_COLUMNS.join(', ')} FROM verdict_log
  WHERE (key_id, number) > ($1, $2) ORDER BY key_id, number LIMIT $3`;

type ReadLogRow = Record<string, string | number> & LogPosition;

/** A position in the log, which is folded in the order of keys. */
interface LogPosition {
  readonly key_id: string;
  readonly number: number;
}

const START: LogPosition = { key_id: '', number: 0 };

/**
 * One round adds everything that was written before it to the sums:
 *
 *   unpack   slices become rows of the log; repeated until no slice is left
 *   fold     rows of the log become sums, from key to key; repeated until the last key
 *
 * The detour through the log brings the counts of one key together: a key in use is in one slice of each node every few seconds, but its
 * sums are written once in a round. One node folds at a time.
 */
class PostgresFold {
  readonly #pool: Pool;
  #unpackSlices = MAX_UNPACK_SLICES;
  #foldRows = MAX_FOLD_ROWS;
  #isUnpacked = false;
  /** The last row that this round has folded. */
  #foldedTo = START;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Runs one transaction of the round. True at the end of the round, and if another node is folding. */
  async step(): Promise<boolean> {
    if (!this.#isUnpacked) {
      const slices = await this.#unpack();
      if (slices === 'some') return false;
      if (slices === 'not mine') return true;
      this.#isUnpacked = true;
    }
    return this.#fold();
  }

  async #unpack(): Promise<'some' | 'all' | 'not mine'> {
    const limit = this.#unpackSlices;
    try {
      const isAll = await this.#underFoldLock((ask) => unpackIn(ask, limit));
      this.#unpackSlices = Math.min(MAX_UNPACK_SLICES, limit + UNPACK_GROWTH);
      return isAll === null ? 'not mine' : isAll ? 'all' : 'some';
    } catch (error) {
      this.#unpackSlices = Math.max(1, Math.floor(limit / 2));
      throw error;
    }
  }

  async #fold(): Promise<boolean> {
    try {
      const last = await this.#underFoldLock((ask) => foldIn(ask, this.#foldedTo, this.#foldRows));
      const isEnd = last === null || last === 'end';
      if (!isEnd) this.#foldRows = Math.min(MAX_FOLD_ROWS, this.#foldRows * 2);
      this.#foldedTo = isEnd ? START : last;
      this.#isUnpacked = !isEnd;
      return isEnd;
    } catch (error) {
      this.#foldedTo = START;
      this.#foldRows = Math.max(MIN_FOLD_ROWS, Math.floor(this.#foldRows / 2));
      throw error;
    }
  }

  /**
   * Runs one transaction that sees slices and log as they were when it began, so it removes exactly what it has read. If another node has
   * removed the same rows meanwhile, the removal fails and nothing is done. So nothing is added twice, even without the lock; the lock
   * avoids wasted work. null: another node is folding.
   */
  #underFoldLock<T>(work: (ask: Ask) => Promise<T>): Promise<T | null> {
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
        if (kindOf(error) === 'rolled back') return null;
        throw new StorageUnavailable(`A database query failed (${reasonOf(error)}).`);
      }
    });
  }
}

/** True when no slice is left. */
async function unpackIn(ask: Ask, maxSlices: number): Promise<boolean> {
  const rows = new LogRows();
  let upTo = 0;
  let left = maxSlices;
  let isAll = false;
  while (!isAll && left > 0 && rows.length < MAX_UNPACK_ROWS) {
    const limit = Math.min(left, SLICES_PER_READ);
    const read = await ask<{ number: number; body: string }>({ text: SLICES, values: [upTo, limit] });
    for (const { body } of read.rows) rows.addSlice(JSON.parse(body) as CountSlice);
    upTo = read.rows.at(-1)?.number ?? upTo;
    left -= read.rows.length;
    isAll = read.rows.length < limit;
  }
  await runAll(ask, logStatements(rows));
  await ask({ text: 'DELETE FROM count_slices WHERE number <= $1', values: [upTo] });
  return isAll;
}

/** Returns the last row that was folded; `end` if no row follows. */
async function foldIn(ask: Ask, after: LogPosition, maxRows: number): Promise<LogPosition | 'end'> {
  // The server has no useful statistics of a table that is filled and emptied all the time, and would read all of it.
  await ask('SET LOCAL enable_seqscan = off');
  const from = [after.key_id, after.number];
  const read = await ask<ReadLogRow>({ text: LOG, values: [...from, maxRows] });
  const last = read.rows.at(-1);
  if (last === undefined) return 'end';
  const rows = new LogRows();
  for (const row of read.rows) rows.addRow(row);
  await runAll(ask, foldStatements(rows));
  await ask({
    text: 'DELETE FROM verdict_log WHERE (key_id, number) > ($1, $2) AND (key_id, number) <= ($3, $4)',
    values: [...from, last.key_id, last.number],
  });
  return read.rows.length < maxRows ? 'end' : last;
}

/** Names under which a connection keeps the statements prepared. */
const STATEMENT_NAMES = new Map<string, string>();

async function runAll(ask: Ask, statements: Iterable<Statement>): Promise<void> {
  for (const { sql, params } of statements) {
    let name = STATEMENT_NAMES.get(sql);
    if (name === undefined) STATEMENT_NAMES.set(sql, (name = `fold_${STATEMENT_NAMES.size}`));
    await ask({ name, text: sql, values: params });
  }
}
