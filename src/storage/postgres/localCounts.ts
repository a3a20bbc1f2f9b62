import { AHEAD_MS } from '../../core/calendar.ts';
import type { LocalCount, LocalCounts, LoadedCount } from '../port/storage.ts';
import { asUnavailable } from './connection/databaseError.ts';
import type { Pool } from './connection/pool.ts';
import { type Session } from './connection/session.ts';
import { IS_OWN_SESSION } from './connection/ownSession.ts';

/** How long a push may take. A pull looks back further than that, so that it misses none. */
export const PUSH_TIMEOUT_MS = 1_500;
const LOOK_BACK = '2 seconds';
/** Rows of other nodes that one pull reads. The next pull continues from there. */
export const MAX_PULLED = 10_000;

interface SumRow extends Record<string, unknown> {
  owner: string | null;
  name: string;
  duration_ms: number;
  reset_at_ms: number;
  count: number;
  /** The time of the last row that was read, if there may be more; null = there are no more. */
  last: string | null;
  /** How far back this pull would have to look. */
  back: string;
}

interface LoadRow extends Record<string, unknown> {
  owner: string;
  name: string;
  duration_ms: number;
  reset_at_ms: number;
  own: number;
  others: number;
}

/**
 * The counts that every node has admitted, in one table. Each node writes its own rows, as absolute numbers that only grow within a window,
 * and reads the sums of the others. Neither the order of arrival nor a repeated message can make a count wrong.
 */
export class PostgresLocalCounts implements LocalCounts {
  readonly isShared = true;
  readonly #session: Session;
  readonly #node: string;
  readonly #lookups: Pool;
  /** The next pull reads what was pushed after this time. */
  #next: string | null = null;
  /**
   * Where the next round begins if a round takes several pulls: as far back as the first pull of this round looked. A push may be committed
   * late, with a time that this round has already passed.
   */
  #nextRound: string | null = null;
  /** Owners that the next load asks for together, after the present one is answered. */
  #gathering: { readonly owners: Set<string>; readonly rows: Promise<LoadRow[]> } | null = null;
  #lastLoad: Promise<unknown> = Promise.resolve();
  #onForgotten: () => void = () => {};
  #wasConnected = false;

  constructor(session: Session, lookups: Pool, node: string) {
    this.#session = session;
    this.#lookups = lookups;
    this.#node = node;
  }

  /** Owners that are first seen while a load is in flight are loaded together by the next one. */
  async load(owner: string): Promise<readonly LoadedCount[]> {
    this.#gathering ??= this.#gather();
    this.#gathering.owners.add(owner);
    const rows = await asUnavailable(this.#gathering.rows);
    return rows
      .filter((row) => row.owner === owner)
      .map((row) => ({
        owner,
        name: row.name,
        durationMs: row.duration_ms,
        resetAtMs: row.reset_at_ms,
        count: row.own,
        others: row.others,
      }));
  }

  onForgotten(listener: () => void): void {
    this.#onForgotten = listener;
  }

  /** Called after a new connection: the server may have crashed, or another one was promoted, and its table is empty. */
  reconnected(): void {
    if (this.#wasConnected) this.#onForgotten();
    this.#wasConnected = true;
  }

  async sync(counts: readonly LocalCount[], isLast: boolean): Promise<readonly LocalCount[]> {
    const { rows } = await asUnavailable(
      this.#session.query<SumRow>((session) => ({
        name: 'sync_local_counts',
        text: SYNC,
        values: [
          this.#node,
          counts.map(({ owner }) => owner),
          counts.map(({ name }) => name),
          counts.map(({ durationMs }) => durationMs),
          counts.map(({ count }) => count),
          counts.map(({ resetAtMs }) => resetAtMs),
          this.#next,
          isLast,
          session,
        ],
      })),
    );
    if (isLast && rows[0] !== undefined) this.#goOn(rows[0]);
    return rows.flatMap(({ owner, name, duration_ms, reset_at_ms, count }) =>
      owner === null ? [] : [{ owner, name, durationMs: duration_ms, resetAtMs: reset_at_ms, count }],
    );
  }

  #goOn({ last, back }: SumRow): void {
    const nextRound = this.#nextRound ?? back;
    this.#next = last ?? nextRound;
    this.#nextRound = last === null ? null : nextRound;
  }

  #gather(): { owners: Set<string>; rows: Promise<LoadRow[]> } {
    const owners = new Set<string>();
    const ask = async (before: Promise<unknown>): Promise<LoadRow[]> => {
      await before.catch(() => {});
      this.#gathering = null;
      return this.#load([...owners]);
    };
    const rows = ask(this.#lastLoad);
    this.#lastLoad = rows;
    return { owners, rows };
  }

  async #load(owners: readonly string[]): Promise<LoadRow[]> {
    const { rows } = await this.#lookups.query<LoadRow>({
      name: 'load_local_counts',
      text: LOAD,
      values: [this.#node, owners],
    });
    return rows;
  }
}

/**
 * For the rows `seen`: the end of the window in which a row counts, and whether it counts.
 *
 * A window that ends too late was pushed by a node whose clock was ahead. It counts only in the window in which it was pushed. If it
 * counted in the present window instead, it would count in every window until its end.
 */
const IS_FAR = `seen.reset_at_ms > now_ms + duration_ms + ${AHEAD_MS}`;
const COUNTS_UNTIL = `CASE WHEN ${IS_FAR} THEN (now_ms / duration_ms + 1) * duration_ms ELSE seen.reset_at_ms END AS reset_at_ms`;
const COUNTS = `(NOT (${IS_FAR}) OR floor(extract(epoch FROM pushed_at) * 1000)::bigint / duration_ms = now_ms / duration_ms)`;

/** Each window by its ends, because nodes whose clocks differ may have counted in several. */
const LOAD = `WITH clock AS MATERIALIZED (
    SELECT ledger_now_v1(NULL) AS now_ms
  )
  SELECT owner, name, duration_ms, ${COUNTS_UNTIL},
    coalesce(sum(count) FILTER (WHERE node = $1), 0)::bigint AS own,
    coalesce(sum(count) FILTER (WHERE node <> $1), 0)::bigint AS others
  FROM local_counts seen CROSS JOIN clock
  WHERE owner = ANY ($2::text[]) AND ${COUNTS}
  GROUP BY 1, 2, 3, 4`;

/** Pushes and pulls in one statement. The first pull of a node does not look back: the node loads owners as they come. */
const SYNC = `WITH mine AS (
    INSERT INTO local_counts (owner, name, duration_ms, node, count, reset_at_ms)
    SELECT DISTINCT ON (u.owner, u.name, u.duration_ms) u.owner, u.name, u.duration_ms, $1, u.count, u.reset_at_ms
    FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS u(owner, name, duration_ms, count, reset_at_ms)
    ORDER BY u.owner, u.name, u.duration_ms, u.reset_at_ms DESC
    ON CONFLICT (owner, name, duration_ms, node)
    DO UPDATE SET count = excluded.count, reset_at_ms = excluded.reset_at_ms,
      pushed_at = clock_timestamp()
  ), news AS (
    SELECT owner, name, duration_ms, pushed_at FROM local_counts
    WHERE $8 AND pushed_at > coalesce($7::timestamptz, now() - interval '${LOOK_BACK}') AND node <> $1
    ORDER BY pushed_at FETCH FIRST ${MAX_PULLED} ROWS WITH TIES
  ), clock AS MATERIALIZED (
    SELECT ledger_now_v1(NULL) AS now_ms
  ), seen AS (
    SELECT e.*, clock.now_ms
    FROM (SELECT DISTINCT owner, name, duration_ms FROM news) n
    JOIN local_counts e ON e.owner = n.owner AND e.name = n.name AND e.duration_ms = n.duration_ms AND e.node <> $1
    CROSS JOIN clock
  ), sums AS (
    SELECT owner, name, duration_ms, ${COUNTS_UNTIL}, sum(count)::bigint AS count
    FROM seen
    WHERE ${COUNTS}
    GROUP BY 1, 2, 3, 4
  )
  SELECT s.*, (now() - interval '${LOOK_BACK}')::text AS back,
    (SELECT max(pushed_at)::text FROM news HAVING count(*) >= ${MAX_PULLED}) AS last
  FROM (SELECT 1) one LEFT JOIN sums s ON true WHERE ${IS_OWN_SESSION}($9)`;
