import type { Client, QueryConfig, QueryResult, QueryResultRow } from 'pg';

import { StorageUnavailable } from '../../port/storage.ts';
import { withoutDoubt } from './commitNotices.ts';
import { type Backend, type Connector, destroy, type Settings, withDeadline } from './connector.ts';
import { causeOf, hasOtherColumns, kindOf, reasonOf } from './databaseError.ts';
import { ended, sessionOf } from './ownSession.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

export interface SessionOptions {
  readonly settings: Settings;
  /** Whether a query may be sent before the last one is answered. The server still answers them one after the other. */
  readonly pipeline?: boolean;
  /** How long an answer may take. */
  readonly timeoutMs: number;
  /** Called after every new connection, before it is used. */
  readonly onOpen?: (client: Client) => Promise<void>;
  readonly random: () => number;
  readonly monotonicMs: () => number;
}

/** A query that carries the token of its session. */
type SessionQuery = (session: string | null) => QueryConfig;

/**
 * One connection, which is reopened after it was lost. While the database does not answer, the session retries with growing pauses. Between
 * two tries it refuses queries at once.
 */
export class Session {
  readonly #connector: Connector;
  readonly #options: SessionOptions;
  #client: Promise<Client> | null = null;
  /** The connection, once it is made. */
  #connected: Client | null = null;
  #failures = 0;
  #nextTryAtMs = 0;
  /** Why there is no connection; null = there is one, or none was tried. */
  #lastFailure: string | null = null;
  #isClosed = false;
  #timeline = 0;
  /** Server processes whose connections were given up. */
  readonly #abandoned: Backend[] = [];
  readonly #dropped = new WeakSet<Client>();
  #last: Promise<void> = Promise.resolve();

  constructor(connector: Connector, options: SessionOptions) {
    this.#connector = connector;
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#client !== null && this.#connected !== null;
  }

  /** How long until the next try to connect; 0 = at once. */
  get pauseMs(): number {
    return Math.max(0, this.#nextTryAtMs - this.#options.monotonicMs());
  }

  client(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(new StorageUnavailable('The database is closed.'));
    if (this.#connected !== null && this.#timeline < this.#connector.timeline) {
      this.drop(this.#connected, 'another server was promoted');
    }
    if (this.#client === null && this.pauseMs > 0) {
      return Promise.reject(new StorageUnavailable(this.#lastFailure ?? 'The database cannot be reached.'));
    }
    this.#client ??= this.#connect();
    return this.#client;
  }

  /** Queries are sent one after the other, and the time limit of each begins when it is sent. */
  query<R extends QueryResultRow>(query: SessionQuery): Promise<QueryResult<R>> {
    const answer = this.#ask<R>(this.#nextClient(), query);
    this.#last = ended(answer);
    return answer;
  }

  /** Two queries on one connection. With `pipeline` the second is sent before the first is answered. */
  queryTwo<R extends QueryResultRow>(
    one: SessionQuery,
    two: SessionQuery,
  ): [Promise<QueryResult<R>>, Promise<unknown>] {
    const client = this.#nextClient();
    const answers: [Promise<QueryResult<R>>, Promise<unknown>] = [this.#ask<R>(client, one), this.#ask(client, two)];
    this.#last = ended(Promise.allSettled(answers));
    return answers;
  }

  #nextClient(): Promise<Client> {
    return this.#last.then(() => this.client());
  }

  async #ask<R extends QueryResultRow>(given: Promise<Client>, query: SessionQuery): Promise<QueryResult<R>> {
    const client = await given;
    try {
      const ask = () => withDeadline(client, this.#options.timeoutMs, client.query<R>(query(sessionOf(client))));
      return await withoutDoubt(client, ask);
    } catch (error) {
      this.noteFailure(client, error);
      throw error;
    }
  }

  /**
   * A connection is not used again if it is lost, leads to a server that takes no writes, has prepared statements for other columns, or has
   * met a foreign session.
   */
  noteFailure(client: Client, error: unknown): void {
    const kind = kindOf(error);
    const isForeign = causeOf(error) === 'pooler';
    if (isForeign) {
      this.#connector.noteForeignSession(this.#options.monotonicMs());
      // By now its first process may belong to somebody else, so it is not ended.
      this.#dropped.add(client);
    }
    if (isForeign || kind === 'lost' || kind === 'readonly' || hasOtherColumns(error))
      this.drop(client, reasonOf(error));
  }

  drop(client: Client, reason: string): void {
    destroy(client);
    const backend = this.#connector.backendOf(client);
    // Done once, however many queries were in flight on it.
    if (backend !== null && !this.#dropped.has(client)) this.#abandoned.push(backend);
    this.#dropped.add(client);
    // A new connection may already have taken its place.
    if (this.#connected !== client) return;
    this.#lastFailure = `The database cannot be reached (${reason}).`;
    this.#client = null;
    this.#connected = null;
  }

  /** Ends the server processes of dropped connections: one of them may wait for a standby for ever. */
  async #endAbandoned(client: Client): Promise<void> {
    const backends = this.#abandoned.splice(0);
    if (backends.length === 0) return;
    await withDeadline(
      client,
      this.#options.timeoutMs,
      client.query(
        `SELECT pg_terminate_backend(s.pid) FROM pg_stat_activity s JOIN unnest($1::int[], $2::bigint[]) AS left_behind(pid, started_at)
           ON s.pid = left_behind.pid AND (extract(epoch FROM s.backend_start) * 1000000)::bigint = left_behind.started_at
         WHERE s.application_name = $3`,
        [backends.map(({ pid }) => pid), backends.map(({ startedAt }) => startedAt), this.#connector.sessionName],
      ),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => null);
    this.#client = null;
    if (client) await withDeadline(client, this.#options.timeoutMs, client.end()).catch(() => {});
  }

  async #connect(): Promise<Client> {
    let client: Client | null = null;
    try {
      client = await this.#connector.connect(this.#options.settings, this.#options.pipeline);
      const opened = client;
      this.#connected = opened;
      this.#timeline = this.#connector.timeline;
      await this.#endAbandoned(opened);
      opened.once('end', () => {
        // The connection was lost between two queries: the next query opens a new one.
        if (this.#connected !== opened) return;
        this.#connected = null;
        this.#client = null;
      });
      await this.#options.onOpen?.(opened);
      this.#failures = 0;
      this.#lastFailure = null;
      return opened;
    } catch (error) {
      if (client !== null) destroy(client);
      this.#client = null;
      const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures++);
      this.#nextTryAtMs = this.#options.monotonicMs() + pauseMs * (0.5 + this.#options.random());
      this.#lastFailure = reasonOf(error);
      if (error instanceof StorageUnavailable) throw error;
      throw new StorageUnavailable(`The database cannot be reached (${reasonOf(error)}).`);
    }
  }
}
