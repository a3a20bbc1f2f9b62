import type { Client } from 'pg';

import { ageMs, type Instant, instantOf, NEVER } from '../../core/age.ts';
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
/** Polls that one request waits for. The first one mostly suffices: the clock would have to be set during each of them. */
const MAX_CONFIRMING_POLLS = 5;
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
  readonly sentAt: Instant;
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
  /** When the poll was sent that confirmed last. Not the latest that a clock ever showed: a clock that was ahead and is set back must not hide later sleep. */
  #confirmedAt: Instant = NEVER;
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

  /** How long ago everything was known. */
  get ageMs(): number {
    return ageMs(this.#confirmedAt, this.#options);
  }

  isFresh(): boolean {
    return this.ageMs < this.#options.staleMaxMs;
  }

  /**
   * Waits for a poll, and for another one when the node is still not fresh: the machine may have slept while the answer was under
   * way, or the clock been set. A poll that was sent long before the request arrived is not waited for.
   */
  async confirm(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer')), CONFIRM_WITHIN_MS);
    });
    try {
      for (let polls = 0; polls < MAX_CONFIRMING_POLLS; polls++) {
        await Promise.race([this.#recentPoll().done, late]);
        if (this.isFresh()) return;
      }
      const bound = `KEYSTILE_STALE_MAX (${this.#options.staleMaxMs} ms)`;
      const why = `Answers of the database take longer than ${bound}, or the clock of this machine is being set.`;
      throw new StorageUnavailable(why);
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

  #recentPoll(): Poll {
    const running = this.#running;
    return running !== null && ageMs(running.sentAt, this.#options) < this.#options.staleMaxMs ? running : this.#poll();
  }

  #poll(): Poll {
    const { clock } = this.#options;
    const [sentAt, startedAtMs] = [instantOf(this.#options), clock.startMs()];
    const ask = async (): Promise<void> => {
      const row = await this.#ask();
      clock.observe(startedAtMs, row.now);
      this.#take(row);
      if (sentAt.monotonicMs >= this.#confirmedAt.monotonicMs) this.#confirmedAt = sentAt;
    };
    const done = ask();
    const poll: Poll = { sentAt, done };
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
