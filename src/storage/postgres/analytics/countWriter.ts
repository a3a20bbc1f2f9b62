import { CountColumns } from '../../../core/verificationCounts.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../../port/storage.ts';
import { PostgresFold } from './foldCounts.ts';
import { asUnavailable, isTold, kindOf, reasonOf } from '../connection/databaseError.ts';
import type { Pool } from '../connection/pool.ts';
import type { CountWriter } from '../../sql/analytics/analytics.ts';
import { CODES, memberOf, TOTALS } from '../../sql/analytics/countColumns.ts';
import type { Named, Unfolded } from '../../sql/analytics/fold.ts';
import { packCounts, sumByApi } from '../../sql/analytics/packedCounts.ts';
import type { Statement } from '../../sql/query/statement.ts';

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
