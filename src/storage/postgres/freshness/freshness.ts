import type { Client, QueryResult, QueryConfig } from 'pg';

import { ageMs, type Instant, instantOf, NEVER } from '../../../basics/clocks.ts';
import { StorageUnavailable, type Change } from '../../port/storage.ts';
import type { Freshness, RecordChange } from '../../port/freshness.ts';
import { type Connector, withDeadline } from '../connection/connector.ts';
import { reasonOf } from '../connection/databaseError.ts';
import { type Durability, DURABILITY_COLUMNS, type DurabilityFacts } from '../connection/durability.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { IS_MOVED } from '../connection/movedFence.ts';
import { Session, type SessionOptions } from '../connection/session.ts';
import { IS_OWN_SESSION } from '../connection/ownSession.ts';
import type { Spend } from '../../../core/spend.ts';
import type { AuditEntry } from '../../port/auditEntries.ts';
import type { NewEvent } from '../../port/events.ts';
import { endsChecks, recordChangeOf } from '../../port/writes.ts';
import { insertQuery } from '../connection/binaryLists.ts';

/** How often a node polls when no notification comes. */
const POLL_MS = 200;
/** A poll includes a heartbeat if the last one was sent this long ago. Polls vary by a tenth. */
const BEAT_EVERY_MS = POLL_MS * 0.9;
/** A request on a node that is not fresh waits this long for a poll. */
const CONFIRM_WITHIN_MS = 2_000;
/** How many polls one request waits for. One is nearly always enough: more are needed only if the clock is set during a poll. */
const MAX_CONFIRMING_POLLS = 5;
const LISTEN_RETRY_MS = 500;

interface Poll {
  readonly sentAt: Instant;
  /** A heartbeat was sent with this poll, or this node knows of no configured standby. */
  readonly isProof: boolean;
  /** Whether all changes up to the sending of the poll are known now. */
  readonly done: Promise<boolean>;
}

/** A connection for one purpose, opened again when it is lost. */
type OpenSession = (
  own: Pick<SessionOptions, 'pipeline' | 'onOpen'>,
) => Pick<Session, 'query' | 'queryTwo' | 'client' | 'close'>;

/** The sessions of a node on a real database. */
export function openSessions(
  connector: Connector,
  { random, monotonicMs }: Pick<FreshnessOptions, 'random' | 'monotonicMs'>,
): OpenSession {
  return (own) => new Session(connector, { settings: {}, timeoutMs: CONFIRM_WITHIN_MS, random, monotonicMs, ...own });
}

interface FreshnessOptions {
  readonly staleMaxMs: number;
  readonly clock: LedgerClock;
  readonly durability: Durability;
  readonly lastSeenChange: LastSeenChange;
  readonly monotonicMs: () => number;
  readonly wallClockMs: () => number;
  readonly random: () => number;
}

/**
 * The numbered changes of all nodes. Polling is authoritative: an answered poll confirms everything up to the moment at which it was sent.
 * Notifications only make the next poll come at once.
 *
 * If commits wait for a standby, an answer is not enough: a primary that was cut off keeps answering after its standby was promoted, and
 * knows nothing of the changes there. So the poll includes a heartbeat, a write that a primary can report as committed only while its
 * standby follows it. The poll confirms when its heartbeat is acknowledged; the changes that it brings are applied earlier. Without a
 * synchronous standby nothing can be proven, so nothing is written.
 */
export class PostgresFreshness implements Freshness {
  readonly #options: FreshnessOptions;
  readonly #polling: ReturnType<OpenSession>;
  readonly #listening: ReturnType<OpenSession>;
  readonly #listeners: ((change: RecordChange) => void)[] = [];
  #seen: number | null = null;
  #timeline = 0;
  /**
   * When the last confirming poll was sent. This is not the latest time of all polls: after a clock is set back, that would hide a later
   * sleep.
   */
  #confirmedAt: Instant = NEVER;
  /** When the database last answered, whatever the answer confirmed. */
  #heardMs = -Infinity;
  /** When the last heartbeat was sent. */
  #beatMs = -Infinity;
  #running: Poll | null = null;
  #mustPollAgain = false;
  #pollTimer: ReturnType<typeof setTimeout> | null = null;
  #listenTimer: ReturnType<typeof setTimeout> | null = null;
  #isClosed = false;

  constructor(open: OpenSession, options: FreshnessOptions) {
    this.#options = options;
    this.#polling = open({ pipeline: true });
    this.#listening = open({ onOpen: (client) => this.#listen(client) });
  }

  /** Rejects if the database does not answer. If a standby does not acknowledge, the node is stale from the start. */
  async start(): Promise<void> {
    const isConfirmed = await this.#poll(false).done;
    if (!isConfirmed) await this.#poll(true).done.catch(() => {});
    this.#schedule();
    void this.#keepListening();
  }

  /** How long ago all changes were known. */
  get ageMs(): number {
    return ageMs(this.#confirmedAt, this.#options);
  }

  /** How long the database has not answered at all. */
  get silentMs(): number {
    return this.#options.monotonicMs() - this.#heardMs;
  }

  mayUseCache(): boolean {
    return this.ageMs < this.#options.staleMaxMs;
  }

  /**
   * Waits for a poll, and for another one if the node is still not fresh: the machine may have slept during the poll, or the clock may have
   * been set. A poll that was sent long before the request arrived does not count.
   */
  async confirm(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer')), CONFIRM_WITHIN_MS);
    });
    try {
      for (let polls = 0; polls < MAX_CONFIRMING_POLLS; polls++) {
        await Promise.race([this.#recentPoll().done, late]);
        if (this.mayUseCache()) return;
      }
      const bound = `KEYSTILE_STALE_MAX (${this.#options.staleMaxMs} ms)`;
      const why = `The database takes longer to answer than ${bound}, or the clock of this machine is being set.`;
      throw new StorageUnavailable(why);
    } catch (error) {
      const reason =
        error instanceof StorageUnavailable ? error.message : `The database does not answer (${reasonOf(error)}).`;
      throw new StorageUnavailable(`${reason} This node cannot tell whether its keys have changed.`);
    } finally {
      if (timer !== null) clearTimeout(timer);
    }
  }

  onChange(listener: (change: RecordChange) => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#pollTimer !== null) clearTimeout(this.#pollTimer);
    if (this.#listenTimer !== null) clearTimeout(this.#listenTimer);
    await Promise.all([this.#polling.close(), this.#listening.close()]);
  }

  /** The poll in flight if it was sent recently and can confirm; otherwise a new one. */
  #recentPoll(): Poll {
    const running = this.#running;
    const isRecent = running !== null && ageMs(running.sentAt, this.#options) < this.#options.staleMaxMs;
    return isRecent && running.isProof ? running : this.#poll(this.#options.durability.facts.awaits_standby);
  }

  #poll(beats: boolean): Poll {
    const { clock, durability } = this.#options;
    const [sentAt, startedAtMs] = [instantOf(this.#options), clock.startMs()];
    const { answer, beat } = this.#ask(beats);
    if (beats) this.#beatMs = sentAt.monotonicMs;
    const take = async (): Promise<boolean> => {
      const row = (await answer).rows[0];
      if (row === undefined) throw new Error('no answer');
      clock.observe(startedAtMs, row.now);
      this.#heardMs = Math.max(this.#heardMs, sentAt.monotonicMs);
      durability.note(row);
      this.#take(row);
      if (row.awaits_standby) {
        if (beat === null) return false;
        await beat;
      }
      if (sentAt.monotonicMs >= this.#confirmedAt.monotonicMs) this.#confirmedAt = sentAt;
      return true;
    };
    const done = take();
    const poll: Poll = { sentAt, isProof: beats || !durability.facts.awaits_standby, done };
    this.#running = poll;
    const ended = (): void => {
      if (this.#running === poll) this.#running = null;
    };
    done.then(ended, ended);
    return poll;
  }

  /** The heartbeat follows on the same connection, so that it proves the server that was read from. */
  #ask(beats: boolean): { answer: Promise<QueryResult<PollRow>>; beat: Promise<unknown> | null } {
    const seen = this.#seen;
    const poll = (session: string | null) => ({ name: 'poll', text: POLL, values: [seen, session] });
    if (!beats) return { answer: this.#polling.query<PollRow>(poll), beat: null };
    const [answer, beat] = this.#polling.queryTwo<PollRow>(poll, (session) => ({
      name: 'beat',
      text: BEAT,
      values: [session],
    }));
    // If the poll finds that commits no longer wait for a standby, nothing waits for the heartbeat.
    beat.catch(() => {});
    return { answer, beat };
  }

  get #isBeatDue(): boolean {
    const { durability, monotonicMs } = this.#options;
    return durability.facts.awaits_standby && monotonicMs() - this.#beatMs >= BEAT_EVERY_MS;
  }

  #take({ last, token, changes, timeline }: PollRow): void {
    this.#options.lastSeenChange.see(token);
    const seen = this.#seen;
    this.#seen = last;
    if (seen === null) this.#timeline = timeline;
    // A promoted standby may have reused a number that its primary had given to another change.
    const isSameLine = this.#timeline === timeline;
    this.#timeline = timeline;
    if (seen === null || (last === seen && isSameLine)) return;
    // If numbers are missing, the whole cache is dropped. Polls may overlap: changes that an earlier poll has brought are no longer new.
    const news = (changes ?? []).filter(({ number }) => number > seen);
    const change = isSameLine && news.length === last - seen ? merged(news) : ANYTHING;
    for (const listener of this.#listeners) listener(change);
  }

  /** Schedules the next poll a little earlier or later than those of other nodes, so that nodes do not ask in step. */
  #schedule(): void {
    if (this.#isClosed) return;
    const milliseconds = POLL_MS * (0.9 + 0.2 * this.#options.random());
    this.#pollTimer = setTimeout(() => void this.#pollInTurn(), milliseconds);
  }

  async #pollInTurn(): Promise<void> {
    do {
      this.#mustPollAgain = false;
      await (this.#running ?? this.#poll(this.#isBeatDue)).done.catch(() => {});
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
    // Catches up with notifications from before it listened.
    this.#heard();
  }

  /** Reopens the connection if it was lost. */
  async #keepListening(): Promise<void> {
    await this.#listening.client().catch(() => {});
    if (!this.#isClosed) this.#listenTimer = setTimeout(() => void this.#keepListening(), LISTEN_RETRY_MS);
  }
}

/** With more changes than this, a node drops its whole cache instead of single records. */
const MAX_CHANGES = 1_000;

interface PollRow extends Record<string, unknown>, DurabilityFacts {
  last: number;
  token: string;
  now: number;
  timeline: number;
  moved: boolean;
  changes: readonly ChangeRow[] | null;
}

interface ChangeRow {
  readonly number: number;
  readonly keys: readonly string[];
  readonly root_keys: boolean;
  /** JSON of Subjects; null = none. */
  readonly subjects: string | null;
}

/** The counter, the clock, the changes since a number, and how safe commits are, in one snapshot. */
const POLL = `SELECT c.number AS last, c.token, ledger_now_v1(NULL) AS now, ${IS_MOVED} AS moved, ${DURABILITY_COLUMNS},
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS timeline, (
    SELECT json_agg(json_build_object('number', n.number, 'keys', n.keys, 'root_keys', n.root_keys, 'subjects', n.subjects))
    FROM (SELECT number, keys, root_keys, subjects FROM changes WHERE number > $1::bigint ORDER BY number LIMIT ${MAX_CHANGES}) n
  ) AS changes FROM change_counter c WHERE ${IS_OWN_SESSION}($2)`;

/** A message in the log of the server, followed by a commit: about 100 bytes. It uses no table, so it leaves nothing to clean up. */
export const BEAT = `SELECT pg_logical_emit_message(true, 'keystile', '') WHERE ${IS_OWN_SESSION}($1)`;

const ANYTHING: RecordChange = {
  keys: null,
  apis: [],
  identities: [],
  plans: [],
  namespaces: [],
  rbac: true,
  rootKeys: true,
};

function merged(changes: readonly ChangeRow[]): RecordChange {
  const subjects = changes.flatMap(({ subjects: text }) => (text === null ? [] : (JSON.parse(text) as Subjects)));
  return {
    keys: changes.flatMap(({ keys }) => keys),
    apis: subjects.flatMap(({ apis }) => apis),
    identities: subjects.flatMap(({ identities }) => identities),
    plans: subjects.flatMap(({ plans }) => plans),
    namespaces: subjects.flatMap(({ namespaces }) => namespaces),
    rbac: subjects.some(({ rbac }) => rbac),
    rootKeys: changes.some(({ root_keys }) => root_keys),
  };
}

/** The channel that notifies nodes of a change. A notification only makes them poll at once: the numbered table is authoritative. */
const CHANNEL = 'keystile_changes';

/** Records that nodes drop, except keys and root keys, which have their own columns. */
interface Subjects {
  readonly apis: readonly string[];
  readonly identities: readonly string[];
  readonly plans: readonly string[];
  readonly namespaces: readonly string[];
  readonly rbac: boolean;
}

const NUMBER_CHANGE = `WITH next AS (UPDATE change_counter SET number = number + 1,
      token = CASE WHEN $5::boolean THEN gen_random_uuid()::text ELSE token END RETURNING number),
    noted AS (INSERT INTO changes (number, at_ms, keys, root_keys, subjects)
      SELECT number, $1::bigint, $2::text[], $3::boolean, $4::text FROM next RETURNING number)
    SELECT pg_notify('${CHANNEL}', number::text) FROM noted`;

const SEQUENCE_EVENTS = `WITH next AS (
      UPDATE event_counter SET sequence = sequence + $1::bigint RETURNING sequence - $1::bigint AS last)
    INSERT INTO events (sequence, id, type, at_ms, data)
      SELECT next.last + e.ordinal, e.id, e.type, $2::bigint, e.data
      FROM next, unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS e (id, type, data, ordinal)`;

const ENTRIES = {
  table: 'audit_entries',
  columns: ['at_ms', 'actor', 'action', 'target', 'before_json', 'after_json', 'origin', 'request_id', 'via'],
};

/**
 * The queries that number a change of cached records and write its audit entries and events. They are sent together with the commit. The
 * row of the counter is locked only from there on, so the numbers follow the order of commits, and no other change waits for a round trip
 * of this node. A change of records that no node caches takes no number and notifies nobody.
 */
export function changeQueries({ writes, entries = [], events = [] }: Change, nowMs: number): QueryConfig[] {
  const changed = recordChangeOf(writes);
  const queries: QueryConfig[] = [];
  // The counter comes first, so that entries of numbered changes are also in the order of their commits. All changes take the two counters
  // in this order, so that none ends in a deadlock.
  if (changed !== null) queries.push(numbered(changed, endsChecks(writes), nowMs));
  if (entries.length > 0) queries.push(logged(entries, nowMs));
  if (events.length > 0) queries.push(sequenced(events, nowMs));
  return queries;
}

/** One row for each commit, whatever it contains: a node that finds too many rows between two polls drops its whole cache. */
function numbered({ keys, rootKeys, ...others }: RecordChange, ends: boolean, nowMs: number): QueryConfig {
  const { apis, identities, plans, namespaces, rbac } = others;
  const subjects = JSON.stringify({ apis, identities, plans, namespaces, rbac } satisfies Subjects);
  return { name: 'number_change', text: NUMBER_CHANGE, values: [nowMs, keys ?? [], rootKeys, subjects, ends] };
}

function logged(entries: readonly AuditEntry[], nowMs: number): QueryConfig {
  const rows = entries.map(({ actor, action, target, before, after, origin, requestId, via }) => {
    return [nowMs, actor, action, target, before, after, origin, requestId, via];
  });
  return insertQuery({ into: ENTRIES, rows });
}

/**
 * The transaction that locks the row of the counter takes the next sequences, and keeps the lock until its commit is visible. So a reader
 * that has seen a sequence has seen all lower ones: an event with a lower one cannot become visible later. An identity column does not
 * guarantee that, because its numbers follow the order of the inserts. These are the last statements before COMMIT, because every change
 * with an event waits for the row.
 */
function sequenced(events: readonly NewEvent[], nowMs: number): QueryConfig {
  const column = (of: (event: NewEvent) => string): string[] => events.map(of);
  const values = [events.length, nowMs, column(({ id }) => id), column(({ type }) => type), column(({ data }) => data)];
  return { name: 'sequence_events', text: SEQUENCE_EVENTS, values };
}

/**
 * The last change of records that this node has seen. Spends rely on it: while the database still has the same token, no record has changed
 * since. So records that were compared after that change need not be compared again.
 */
export class LastSeenChange {
  /** null = none was seen yet, or there was another change since. */
  #token: string | null = null;
  /** Counts the changes that were seen, beginning at 1. A note holds this number. */
  #sequence = 0;

  see(token: string): void {
    if (this.#token === token) return;
    this.#token = token;
    this.#sequence++;
  }

  /** The database has a different token from the one that was seen under this number. Until that is seen, no spend relies on a note. */
  outdate(sequence: number): void {
    if (this.#sequence === sequence) this.#token = null;
  }

  get token(): string | null {
    return this.#token;
  }

  /** 0 = a note that is made now would not count. */
  get sequence(): number {
    return this.#token === null ? 0 : this.#sequence;
  }

  /** Whether the records that decided this spend were compared after the last change that was seen. */
  covers({ lastCheck }: Spend): boolean {
    return lastCheck !== undefined && this.#token !== null && lastCheck.checkedAt === this.#sequence;
  }
}
