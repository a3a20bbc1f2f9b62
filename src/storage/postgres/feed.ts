import type { Client } from 'pg';

import type { Feed, FeedChange } from '../feedPort.ts';
import { StorageUnavailable } from '../port.ts';
import type { LedgerClock } from './clock.ts';
import { type Connector, withDeadline } from './connector.ts';
import { CHANNEL, type Subjects } from './feedNotes.ts';
import { reasonOf } from './failure.ts';
import { Session } from './session.ts';

/** How often the number is asked for, when nothing is heard. */
const POLL_MS = 200;
/** A request that finds the node's knowledge too old waits so long for new one. */
const CONFIRM_WITHIN_MS = 2_000;
/** With more changes than this all that is kept goes, instead of each. */
const MAX_CHANGES = 1_000;
const LISTEN_RETRY_MS = 500;

interface PollRow extends Record<string, unknown> {
  last: number;
  now: number;
  timeline: number;
  changes: readonly ChangeRow[] | null;
}

interface ChangeRow {
  readonly keys: readonly string[];
  readonly root_keys: boolean;
  /** JSON of Subjects; null: none. */
  readonly subjects: string | null;
}

interface Poll {
  readonly sentAtMs: number;
  readonly done: Promise<void>;
}

export interface FeedOptions {
  readonly staleMaxMs: number;
  readonly clock: LedgerClock;
  readonly monotonicMs: () => number;
  readonly wallClockMs: () => number;
  readonly random: () => number;
}

/**
 * The numbered changes of all nodes. Polling is the truth: a poll that was answered confirms everything up to the moment at
 * which it was sent. Notifications only make the next poll come at once.
 */
export class PostgresFeed implements Feed {
  readonly #options: FeedOptions;
  readonly #polling: Session;
  readonly #listening: Session;
  readonly #listeners: ((change: FeedChange) => void)[] = [];
  #seen: number | null = null;
  #timeline = 0;
  #confirmedMs = -Infinity;
  #confirmedWallMs = -Infinity;
  #running: Poll | null = null;
  #mustPollAgain = false;
  #pollTimer: ReturnType<typeof setTimeout> | null = null;
  #listenTimer: ReturnType<typeof setTimeout> | null = null;
  #isClosed = false;

  constructor(connector: Connector, options: FeedOptions) {
    this.#options = options;
    const { random, monotonicMs } = options;
    this.#polling = new Session(connector, { settings: {}, timeoutMs: CONFIRM_WITHIN_MS, random, monotonicMs });
    this.#listening = new Session(connector, {
      settings: {},
      timeoutMs: CONFIRM_WITHIN_MS,
      random,
      monotonicMs,
      onOpen: (client) => this.#listen(client),
    });
  }

  /** Rejects when the database does not answer. */
  async start(): Promise<void> {
    await this.#poll().done;
    this.#schedule();
    void this.#keepListening();
  }

  /** How long ago everything was known, by the clock that says more: one stops while the machine sleeps, the other can be set. */
  get ageMs(): number {
    const { monotonicMs, wallClockMs } = this.#options;
    return Math.max(monotonicMs() - this.#confirmedMs, wallClockMs() - this.#confirmedWallMs);
  }

  isFresh(): boolean {
    return this.ageMs < this.#options.staleMaxMs;
  }

  /** A poll that was sent long before the request arrived does not tell enough: another one is sent. */
  async confirm(): Promise<void> {
    const oldestMs = this.#options.monotonicMs() - this.#options.staleMaxMs;
    const poll = this.#running !== null && this.#running.sentAtMs > oldestMs ? this.#running : this.#poll();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer')), CONFIRM_WITHIN_MS);
    });
    try {
      await Promise.race([poll.done, late]);
    } catch (error) {
      const reason =
        error instanceof StorageUnavailable ? error.message : `The database is silent (${reasonOf(error)}).`;
      throw new StorageUnavailable(`${reason} This node cannot tell whether its keys have changed.`);
    } finally {
      if (timer !== null) clearTimeout(timer);
    }
  }

  onChange(listener: (change: FeedChange) => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#pollTimer !== null) clearTimeout(this.#pollTimer);
    if (this.#listenTimer !== null) clearTimeout(this.#listenTimer);
    await Promise.all([this.#polling.close(), this.#listening.close()]);
  }

  #poll(): Poll {
    const { monotonicMs, wallClockMs, clock } = this.#options;
    const [sentAtMs, sentWallMs, startedAtMs] = [monotonicMs(), wallClockMs(), clock.startMs()];
    const ask = async (): Promise<void> => {
      const row = await this.#ask();
      clock.observe(startedAtMs, row.now);
      this.#take(row);
      if (sentAtMs < this.#confirmedMs) return;
      this.#confirmedMs = sentAtMs;
      // As it was then, not the latest it ever was: a clock that was ahead and is set back must not hide later sleep.
      this.#confirmedWallMs = sentWallMs;
    };
    const done = ask();
    const poll: Poll = { sentAtMs, done };
    this.#running = poll;
    const ended = (): void => {
      if (this.#running === poll) this.#running = null;
    };
    done.then(ended, ended);
    return poll;
  }

  async #ask(): Promise<PollRow> {
    const { rows } = await this.#polling.query<PollRow>({ name: 'poll', text: POLL, values: [this.#seen] });
    const [row] = rows;
    if (row === undefined) throw new Error('no answer');
    return row;
  }

  #take({ last, changes, timeline }: PollRow): void {
    const seen = this.#seen;
    this.#seen = last;
    if (seen === null) this.#timeline = timeline;
    // A promoted standby may have given a number again that its primary had given to another change.
    const isSameLine = this.#timeline === timeline;
    this.#timeline = timeline;
    if (seen === null || (last === seen && isSameLine)) return;
    // Numbers have no gaps. Too many to tell, some removed already, or another database at this address: nothing kept counts.
    const isWhole = isSameLine && changes !== null && changes.length === last - seen;
    const change = isWhole ? merged(changes) : ANYTHING;
    for (const listener of this.#listeners) listener(change);
  }

  /** The next poll, a little earlier or later than the others' so that nodes do not ask in step. */
  #schedule(): void {
    if (this.#isClosed) return;
    const milliseconds = POLL_MS * (0.9 + 0.2 * this.#options.random());
    this.#pollTimer = setTimeout(() => void this.#pollInTurn(), milliseconds);
  }

  async #pollInTurn(): Promise<void> {
    do {
      this.#mustPollAgain = false;
      await (this.#running ?? this.#poll()).done.catch(() => {});
    } while (this.#mustPollAgain && !this.#isClosed);
    this.#schedule();
  }

  #heard(): void {
    if (this.#isClosed) return;
    this.#mustPollAgain = true;
    if (this.#running !== null) return;
    if (this.#pollTimer !== null) clearTimeout(this.#pollTimer);
    void this.#pollInTurn();
  }

  async #listen(client: Client): Promise<void> {
    client.on('notification', () => this.#heard());
    await withDeadline(client, CONFIRM_WITHIN_MS, client.query(`LISTEN ${CHANNEL}`));
    // What was said while nobody listened.
    this.#heard();
  }

  /** Looks now and then whether the connection is still there; it is made anew on the asking. */
  async #keepListening(): Promise<void> {
    await this.#listening.client().catch(() => {});
    if (!this.#isClosed) this.#listenTimer = setTimeout(() => void this.#keepListening(), LISTEN_RETRY_MS);
  }
}

/** The counter, the clock and the changes since, in one snapshot. */
const POLL = `SELECT c.number AS last, ledger_now_v1(NULL) AS now,
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS timeline, (
    SELECT json_agg(json_build_object('keys', n.keys, 'root_keys', n.root_keys, 'subjects', n.subjects))
    FROM (SELECT keys, root_keys, subjects FROM changes WHERE number > $1::bigint ORDER BY number LIMIT ${MAX_CHANGES}) n
  ) AS changes FROM change_counter c`;

const ANYTHING: FeedChange = { keys: null, apis: [], identities: [], namespaces: [], rbac: true, rootKeys: true };

function merged(changes: readonly ChangeRow[]): FeedChange {
  const subjects = changes.flatMap(({ subjects: text }) => (text === null ? [] : (JSON.parse(text) as Subjects)));
  return {
    keys: changes.flatMap(({ keys }) => keys),
    apis: subjects.flatMap(({ apis }) => apis),
    identities: subjects.flatMap(({ identities }) => identities),
    namespaces: subjects.flatMap(({ namespaces }) => namespaces),
    rbac: subjects.some(({ rbac }) => rbac),
    rootKeys: changes.some(({ root_keys }) => root_keys),
  };
}
