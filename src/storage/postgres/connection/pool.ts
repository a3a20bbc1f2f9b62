import type { Client, QueryConfig, QueryResult, QueryResultRow } from 'pg';

import { StorageUnavailable } from '../../port/storage.ts';
import { withoutDoubt } from './commitNotices.ts';
import { type Connector, inOneWrite, withDeadline } from './connector.ts';
import { asUnavailable, hasOtherColumns } from './databaseError.ts';
import { Session, type SessionOptions } from './session.ts';
import { inOwnSession } from './ownSession.ts';

/** How long a query waits for a connection. */
const MAX_WAIT_MS = 5_000;
/** The pool is stuck if all connections are in use and none was returned for this long. */
const STUCK_MS = 2_000;
/** How long a stuck pool is still reported after it moves again. */
const SHOW_STUCK_MS = 3_000;

interface PoolOptions extends SessionOptions {
  readonly size: number;
  /** How many queries may wait for a connection. Further ones are refused at once. */
  readonly maxWaiting: number;
}

/** A few connections for reads and management. Each serves one caller at a time. */
export class Pool {
  readonly #sessions: readonly Session[];
  readonly #idle: Session[];
  readonly #waiting: ((session: Session) => void)[] = [];
  readonly #options: PoolOptions;
  /** When a connection was last taken or returned. */
  #movedAtMs = -Infinity;
  #stuckAtMs = -Infinity;

  constructor(connector: Connector, options: PoolOptions) {
    this.#options = options;
    this.#sessions = Array.from({ length: options.size }, () => new Session(connector, options));
    this.#idle = [...this.#sessions];
  }

  /** Whether callers wait for long, or did a moment ago. */
  get isStuck(): boolean {
    return this.#isStuck || this.#options.monotonicMs() - this.#stuckAtMs < SHOW_STUCK_MS;
  }

  get #isStuck(): boolean {
    return this.#idle.length === 0 && this.#options.monotonicMs() - this.#movedAtMs >= STUCK_MS;
  }

  /** Runs one statement that reads. */
  query<R extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<R>> {
    return this.#prepareAgain(() => this.use(async (ask) => ask<R>(query)));
  }

  /** Runs one statement that writes, as a transaction, which checks the session. */
  write<R extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<R>> {
    return this.#prepareAgain(async () => {
      const [, answer] = await this.use((_ask, askAll) => askAll([{ text: 'BEGIN' }, query, { text: 'COMMIT' }]));
      return answer as QueryResult<R>;
    });
  }

  /** After a migration by a newer node, every connection may have prepared the query for other columns. */
  async #prepareAgain<T>(ask: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        if (!hasOtherColumns(error) || tries > this.#options.size) throw error;
      }
    }
  }

  /** Uses one connection for everything that `work` asks. Work that writes begins a transaction, which checks the session. */
  async use<T>(work: (ask: Ask, askAll: AskAll) => Promise<T>): Promise<T> {
    const session = await this.#take();
    try {
      const client = await session.client();
      const { timeoutMs } = this.#options;
      return await work(asker(session, client, timeoutMs), allAsker(session, client, timeoutMs));
    } finally {
      this.#giveBack(session);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#sessions.map((session) => session.close()));
  }

  /** Prefers a session that is connected, then one that can connect at once, then one that pauses after a failure. */
  #take(): Promise<Session> {
    const best =
      this.#idle.find((session) => session.isOpen) ?? this.#idle.find(({ pauseMs }) => pauseMs === 0) ?? this.#idle[0];
    if (best !== undefined) {
      this.#idle.splice(this.#idle.indexOf(best), 1);
      this.#movedAtMs = this.#options.monotonicMs();
      return Promise.resolve(best);
    }
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(new StorageUnavailable('Too many requests are waiting for the database.'));
    }
    return new Promise((resolve, reject) => {
      const waiter = (session: Session): void => {
        clearTimeout(timer);
        resolve(session);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(new StorageUnavailable('The database was too busy to begin this request in time; nothing was changed.'));
      }, MAX_WAIT_MS);
      this.#waiting.push(waiter);
    });
  }

  #giveBack(session: Session): void {
    if (this.#isStuck) this.#stuckAtMs = this.#options.monotonicMs();
    this.#movedAtMs = this.#options.monotonicMs();
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(session);
    else next(session);
  }
}

/** An answer in doubt is treated as lost. */
function asker(session: Session, client: Client, timeoutMs: number): Ask {
  return async (query) => {
    try {
      const asked = inOwnSession(client, typeof query === 'string' ? { text: query } : query);
      return (await withoutDoubt(client, () => withDeadline(client, timeoutMs, client.query(asked)))) as never;
    } catch (error) {
      session.noteFailure(client, error);
      throw error;
    }
  };
}

function allAsker(session: Session, client: Client, timeoutMs: number): AskAll {
  return async (queries) => {
    const ask = async (): Promise<QueryResult[]> => {
      const sent = inOneWrite(client, () => queries.map((query) => client.query(inOwnSession(client, query))));
      const answers = await Promise.allSettled(sent);
      return answers.map((answer) => {
        if (answer.status === 'rejected') throw answer.reason;
        return answer.value;
      });
    };
    try {
      return await withoutDoubt(client, () => withDeadline(client, timeoutMs, ask()));
    } catch (error) {
      session.noteFailure(client, error);
      throw error;
    }
  };
}

/** Sends all queries before the first is answered, if the connections have `pipeline`. Rejects with the first failure. */
export type AskAll = (queries: readonly QueryConfig[]) => Promise<QueryResult[]>;

export type Ask = <R extends QueryResultRow>(query: QueryConfig | string) => Promise<QueryResult<R>>;

/** Key of the advisory lock that one node at a time holds: any number, the same for all nodes. */
const EXCLUSIVE_LOCK = 7_218_530_412;

/** Runs `work` on one node at a time. */
export function exclusively<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  return pool.use(async (ask) => {
    await asUnavailable(ask('BEGIN'));
    try {
      await asUnavailable(ask({ text: 'SELECT pg_advisory_xact_lock($1)', values: [EXCLUSIVE_LOCK] }));
      return await work();
    } finally {
      await ask('ROLLBACK').catch(() => {});
    }
  });
}

/** The longest pause before the second try; it doubles with every further one. */
const FIRST_PAUSE_MS = 4;

/** The pause is random: two transactions that collided would otherwise collide again. */
export function pauseBeforeRetry(tries: number, random: () => number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, random() * FIRST_PAUSE_MS * 2 ** (tries - 1)));
}
