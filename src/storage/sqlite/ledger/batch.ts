import type { Database } from 'bun:sqlite';

import type { AccountState } from '../../../core/account.ts';
import { changed, type ChangedAccount } from '../../../core/accountChange.ts';
import { MAX_LIVE_RESERVATIONS } from '../../../core/bounds.ts';
import { type Fence, ABSENT, type FenceKind, fencedRecord } from '../../../core/fence.ts';
import type { Pockets } from '../../../core/expiringCredits.ts';
import {
  decideEnd,
  decideReserve,
  type Ending,
  type EndOutcome,
  type NewReservation,
  type Reservation,
  type ReservationView,
  type ReserveOutcome,
} from '../../../core/reservation.ts';
import {
  answerUnder,
  decideSpend,
  type IdempotencyKey,
  type RememberedAnswer,
  type Spend,
  type SpendOutcome,
} from '../../../core/spend.ts';
import type { StatementLine } from '../../../core/statement.ts';
import { BatchCredits, exceedsGrants, type StoredCredits } from '../../port/credits.ts';
import type { NewEvent } from '../../port/events.ts';
import type { Change, ChangeOutcome } from '../../port/storage.ts';
import { effectsOf, endsChecks } from '../../port/writes.ts';
import { withBalances, withCharged, withEventBalances } from '../../sql/balances.ts';
import { RESERVATION_COLUMNS, type ReservationRow, toReservation } from '../../sql/reservations.ts';
import { type Accounts } from '../accounts.ts';
import { isCount, toLoggedAccounts } from '../loggedBytes.ts';
import type { AnswerRow, Commit, CommitRows, EntryRow, EventRow, Rotation, WindowWrite } from '../writer/commit.ts';
import { dropFirst } from '../../../basics/dropFirst.ts';
import { FENCED_REVISION } from '../../sql/fences.ts';

/** A change of this adapter may also name ad-hoc windows. */
export type SqliteChange = Omit<Change, 'writes'> & {
  readonly writes: readonly (Change['writes'][number] | WindowWrite)[];
};

export type WorkOutcome = SpendOutcome | ChangeOutcome | ReserveOutcome | EndOutcome | null;

export type Work =
  | { readonly spend: Spend }
  | { readonly change: SqliteChange }
  | { readonly reserve: Spend; readonly wanted: NewReservation }
  | { readonly end: string; readonly ending: Ending; readonly event: NewEvent | null }
  | { readonly lookUp: IdempotencyKey }
  | { readonly rotateIdempotency: true };

/** The durable state, as memory has it. */
interface Committed {
  readonly accounts: Accounts;
  readonly idempotency: Idempotency;
  readonly revisions: RecordRevisions;
  readonly credits: StoredCredits;
}

const ROWS_IN_A_PART = 200;

function slices<T>(list: readonly T[]): T[][] {
  const count = Math.ceil(list.length / ROWS_IN_A_PART);
  return Array.from({ length: count }, (_, i) => list.slice(i * ROWS_IN_A_PART, (i + 1) * ROWS_IN_A_PART));
}

/** The decisions of a batch, on top of the committed state. Nobody else sees them before they are durable. */
export class Batch implements ReservationView {
  readonly accounts = new Map<number, AccountState | null>();
  /** Answers to remember under idempotency keys. */
  readonly answers = new Map<string, { key: IdempotencyKey; answer: RememberedAnswer }>();
  readonly #newAnswersOf = new Map<string, number>();
  readonly #writes: SqliteChange['writes'][number][] = [];
  readonly #entries: EntryRow[] = [];
  readonly #events: EventRow[] = [];
  readonly #committed: Accounts;
  readonly #idempotency: Idempotency;
  readonly #nowMs: number;
  readonly revisions: BatchRevisions;
  readonly #credits: BatchCredits;
  #mustRotate = false;
  readonly #maxLiveAnswers: number;
  /** The partition for the answers of this batch. */
  readonly rotation: Rotation;

  constructor({ accounts, idempotency, revisions, credits }: Committed, nowMs: number, maxLiveAnswers: number) {
    this.#committed = accounts;
    this.#idempotency = idempotency;
    this.revisions = new BatchRevisions(revisions);
    this.#credits = new BatchCredits(credits);
    this.#nowMs = nowMs;
    this.#maxLiveAnswers = maxLiveAnswers;
    this.rotation = idempotency.rotation(nowMs);
  }

  decide(work: Work): WorkOutcome {
    if ('spend' in work) return decideSpend(this, work.spend, this.#nowMs, this.#maxLiveAnswers);
    if ('change' in work) return this.#applyChange(work.change);
    if ('reserve' in work) {
      return decideReserve(this, work.reserve, work.wanted, this.#nowMs, MAX_LIVE_RESERVATIONS);
    }
    if ('end' in work) return this.#end(work);
    if ('lookUp' in work) return answerUnder(this, work.lookUp);
    this.#mustRotate = this.rotation.empties;
    return null;
  }

  /** This batch prepares the partitions of idempotency. */
  get rotates(): boolean {
    return this.#mustRotate || this.answers.size > 0;
  }

  get isEmpty(): boolean {
    return this.accounts.size === 0 && this.isPlain;
  }

  /** The batch only spends: it has no records, no lines of statements, no entries, no events and no remembered answers. */
  get isPlain(): boolean {
    const rows = [this.#writes, this.#entries, this.#events];
    return !this.rotates && this.#credits.isEmpty && rows.every((list) => list.length === 0);
  }

  get changesRecords(): boolean {
    return this.#writes.length > 0;
  }

  /** The accounts of the batch, and the last part of its rows. */
  toCommit(number: number, rows: CommitRows | undefined): Commit {
    return {
      number,
      accounts: toLoggedAccounts(this.accounts),
      rows: rows === undefined ? null : JSON.stringify(rows),
    };
  }

  /** What the batch writes besides the accounts, in parts; none = it only spends. Making the text of a thousand records takes long. */
  get rowParts(): readonly CommitRows[] {
    if (this.isPlain) return [];
    const others = {
      credits: this.#credits.isEmpty ? null : this.#credits.writes,
      remembered: this.rotates ? { rotation: this.rotation, answers: this.#answerRows() } : null,
    };
    const [writes, entries, events] = [this.#writes, this.#entries, this.#events];
    if (writes.length + entries.length + events.length <= ROWS_IN_A_PART) {
      return [{ writes, entries, events, ...others }];
    }
    return [
      ...slices(writes).map((some) => ({ writes: some })),
      ...slices(entries).map((some) => ({ entries: some })),
      ...slices(events).map((some) => ({ events: some })),
      others,
    ];
  }

  #answerRows(): AnswerRow[] {
    return Array.from(this.answers.values(), ({ key, answer: { requestDigest, ...outcome } }) => ({
      scope: key.scope,
      id: key.id,
      requestDigest,
      outcome: JSON.stringify(outcome),
    }));
  }

  isCurrent(fence: Fence): boolean {
    return this.revisions.isCurrent(fence);
  }

  get lastChange(): number {
    return this.revisions.lastChange;
  }

  account(id: number): AccountState | undefined {
    const own = this.accounts.get(id);
    return own === undefined ? this.#committed.get(id) : (own ?? undefined);
  }

  /** Checks before the commit what the table checks: no answer may be given for a state that the table refuses. */
  put(id: number, state: AccountState): void {
    if (!isSound(state)) throw new Error(`account ${id} would get an impossible state`);
    this.accounts.set(id, state);
  }

  pockets(id: number): Pockets | null {
    return this.#credits.pockets(id);
  }

  putPockets(id: number, pockets: Pockets | null): void {
    this.#credits.putPockets(id, pockets);
  }

  addLines(id: number, lines: readonly StatementLine[]): void {
    this.#credits.addLines(id, lines);
  }

  reservation(id: string): Reservation | undefined {
    return this.#credits.reservation(id);
  }

  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined {
    return this.#credits.reservationUnder(keyId, idempotencyId);
  }

  liveReservations(keyId: string): number {
    return this.#credits.liveReservations(keyId);
  }

  putReservation(reservation: Reservation): void {
    this.#credits.putReservation(reservation);
  }

  rememberedAnswer(key: IdempotencyKey): RememberedAnswer | undefined {
    return this.answers.get(answerName(key))?.answer ?? this.#idempotency.find(key);
  }

  liveIdempotencyKeys(scope: string): number {
    return this.#idempotency.live(scope) + (this.#newAnswersOf.get(scope) ?? 0);
  }

  remember(key: IdempotencyKey, answer: RememberedAnswer): void {
    this.answers.set(answerName(key), { key, answer });
    this.#newAnswersOf.set(key.scope, (this.#newAnswersOf.get(key.scope) ?? 0) + 1);
  }

  /** Changes all accounts or none: all are decided before the first is stored. */
  #applyChange(change: SqliteChange): ChangeOutcome {
    this.#committed.readTogether(change.accounts.map(({ account }) => account));
    const before = change.accounts.map(({ account }) => this.account(account));
    const results: ChangedAccount[] = [];
    const unsettled: number[] = [];
    const nowMs = this.#nowMs;
    for (const [i, accountChange] of change.accounts.entries()) {
      const pockets = before[i]?.kind === 'credits' ? this.pockets(accountChange.account) : null;
      const { account } = accountChange;
      const result = changed(before[i], pockets, accountChange, nowMs);
      if (result === 'otherMark') return { status: result, nowMs, mark: { account, markMs: before[i]?.mark ?? 0 } };
      if (result === 'settleFirst') unsettled.push(account);
      else if (result === 'stale' || exceedsGrants(accountChange, result)) return { status: 'stale', nowMs };
      else results.push(result);
    }
    if (unsettled.length > 0) return { status: 'settleFirst', nowMs, accounts: unsettled };
    const after = results.map(({ state }) => state);
    const unsound = after.find((state) => state !== null && !isSound(state));
    if (unsound !== undefined) throw new Error('the change would make an impossible account');
    for (const [i, accountChange] of change.accounts.entries()) {
      this.accounts.set(accountChange.account, after[i] ?? null);
      this.#credits.adopt(accountChange, before[i], results[i] as ChangedAccount);
    }
    this.#writes.push(...change.writes);
    for (const write of change.writes)
      if (!isWindowWrite(write)) this.revisions.revise(effectsOf(write).revises, endsChecks([write]));
    for (const event of withEventBalances(change.events ?? [], results))
      this.#events.push({ ...event, atMs: this.#nowMs });
    for (const entry of withBalances(change.entries ?? [], results))
      this.#entries.push({ ...entry, atMs: this.#nowMs });
    return { status: 'done', accounts: after, nowMs: this.#nowMs };
  }

  #end({ end, ending, event }: Extract<Work, { end: string }>): EndOutcome {
    const outcome = decideEnd(this, end, ending, this.#nowMs);
    if (outcome.status !== 'done') return outcome;
    this.#credits.released(outcome.reservation, (account) => this.account(account)?.value ?? 0);
    if (event !== null) this.#events.push({ ...withCharged(event, outcome.reservation), atMs: this.#nowMs });
    return outcome;
  }
}

/** An ad-hoc window has no revision that a fence could name. */
function isWindowWrite(write: SqliteChange['writes'][number]): write is WindowWrite {
  return write.kind === 'insertWindow' || write.kind === 'removeWindow';
}

function isSound({ value, mark, dueAtMs, revision, base, segmentMs }: AccountState): boolean {
  return (
    isCount(value) && isCount(mark) && isCount(dueAtMs) && isCount(revision) && isCount(base) && isCount(segmentMs)
  );
}

function answerName(key: IdempotencyKey): string {
  return `${key.scope}\0${key.id}`;
}

/** Scopes whose number of live answers is kept in memory. Others are counted again. */
const MAX_COUNTED_SCOPES = 10_000;

interface StoredRow {
  request_digest: string;
  outcome: string;
}

/**
 * Answers that are remembered under idempotency keys, in two partitions. New answers go to the running partition. After one retention, the
 * other partition is emptied and becomes the running one. So an answer lives for at least one retention and, while answers keep coming, for
 * at most two. The database notes which partition runs since when: so the retention can be changed, and a clock that was ahead does not
 * keep answers for ever.
 */
export class Idempotency {
  readonly #live = new Map<string, number>();
  readonly #retentionMs: number;
  readonly #select;
  readonly #count;
  /** null before the first answer. */
  #running: Rotation['running'] | null;

  constructor(db: Database, retentionMs: number) {
    this.#retentionMs = retentionMs;
    const columns = 'SELECT request_digest, outcome FROM';
    const where = 'WHERE scope = ?1 AND id = ?2';
    this.#select = db.query(`${columns} idempotency_0 ${where} UNION ALL ${columns} idempotency_1 ${where}`);
    this.#count = db.query(`SELECT (SELECT count(*) FROM idempotency_0 WHERE scope = ?1) +
      (SELECT count(*) FROM idempotency_1 WHERE scope = ?1) AS live`);
    const noted = db.query("SELECT value FROM installation WHERE name = 'idempotency_partition'").get() as {
      value: string;
    } | null;
    this.#running = noted === null ? null : (JSON.parse(noted.value) as Rotation['running']);
  }

  find(key: IdempotencyKey): RememberedAnswer | undefined {
    const row = this.#select.get(key.scope, key.id) as StoredRow | null;
    if (row === null) return undefined;
    return {
      requestDigest: row.request_digest,
      ...(JSON.parse(row.outcome) as Omit<RememberedAnswer, 'requestDigest'>),
    };
  }

  live(scope: string): number {
    let live = this.#live.get(scope);
    if (live === undefined) {
      live = (this.#count.get(scope) as { live: number }).live;
      if (this.#live.size >= MAX_COUNTED_SCOPES) this.#live.clear();
      this.#live.set(scope, live);
    }
    return live;
  }

  committed(scope: string): void {
    const live = this.#live.get(scope);
    if (live !== undefined) this.#live.set(scope, live + 1);
  }

  /** The partition for new answers, and what has to happen first. */
  rotation(nowMs: number): Rotation {
    const running = this.#running;
    if (running === null) return { running: { partition: 0, sinceMs: nowMs }, empties: false, isDue: true };
    // The clock was set back, so the retention counts from now.
    if (nowMs < running.sinceMs) return { running: { ...running, sinceMs: nowMs }, empties: false, isDue: true };
    if (nowMs < running.sinceMs + this.#retentionMs) return { running, empties: false, isDue: false };
    const partition = running.partition === 0 ? 1 : 0;
    return { running: { partition, sinceMs: nowMs }, empties: true, isDue: true };
  }

  rotated({ running, isDue }: Rotation): void {
    if (!isDue) return;
    this.#running = running;
    this.#live.clear();
  }
}

/** The durable facts about credits besides their accounts. Each commit writes them, so a read here sees all commits. */
export class SqliteStoredCredits implements StoredCredits {
  readonly #pockets;
  readonly #reservation;
  readonly #byIdempotency;
  readonly #live;

  constructor(db: Database) {
    const select = `SELECT ${RESERVATION_COLUMNS} FROM reservations`;
    this.#pockets = db.query<{ state: string }, [number]>('SELECT state FROM pockets WHERE account = ?');
    this.#reservation = db.query<ReservationRow, [string]>(`${select} WHERE id = ?`);
    this.#byIdempotency = db.query<ReservationRow, [string, string]>(
      `${select} WHERE key_id = ? AND idempotency_id = ?`,
    );
    this.#live = db.query<{ live: number }, [string]>(
      `SELECT count(*) AS live FROM (SELECT 1 FROM reservations WHERE key_id = ? AND state = 'held' LIMIT ${MAX_LIVE_RESERVATIONS})`,
    );
  }

  pockets(account: number): Pockets | null {
    const row = this.#pockets.get(account);
    return row === null ? null : (JSON.parse(row.state) as Pockets);
  }

  reservation(id: string): Reservation | undefined {
    const row = this.#reservation.get(id);
    return row === null ? undefined : toReservation(row);
  }

  reservationUnder(keyId: string, idempotencyId: string): Reservation | undefined {
    const row = this.#byIdempotency.get(keyId, idempotencyId);
    return row === null ? undefined : toReservation(row);
  }

  liveReservations(keyId: string): number {
    return this.#live.get(keyId)?.live ?? 0;
  }
}

/**
 * How many revisions of a kind of records are kept in memory. Other revisions are read when they are needed, which takes as long as ten
 * spends.
 */
const MAX_KEPT = 20_000;
/** For keys and identities, about 100 bytes each: as many as the cache holds by default. */
const MAX_KEPT_HOLDERS = 1_000_000;

/** The last committed revisions of the records that fence spends. */
export class RecordRevisions {
  readonly #db: Database;
  /** By kind, then by id. A text of both would have to be made for every fence. */
  readonly #kept = new Map<FenceKind, Map<string, number>>();
  /** Counts the commits that changed an existing record, beginning at 1. */
  #lastChange = 1;

  constructor(db: Database) {
    this.#db = db;
  }

  get lastChange(): number {
    return this.#lastChange;
  }

  isCurrent(fence: Fence): boolean {
    return this.#revisionOf(fence) === fence.revision;
  }

  #revisionOf(fence: Fence): number {
    const kept = this.#keptOf(fence);
    const known = kept.get(nameOf(fence));
    if (known !== undefined) return known;
    const read = this.#read(fence);
    kept.set(nameOf(fence), read);
    if (kept.size > (isHolder(fence) ? MAX_KEPT_HOLDERS : MAX_KEPT)) dropFirst(kept);
    return read;
  }

  /** A revision that is not kept is read from the database, which has these changes by now. */
  adopt({ revised, endsChecks: ends }: Pick<BatchRevisions, 'revised' | 'endsChecks'>): void {
    if (ends) this.#lastChange++;
    for (const fence of revised) {
      const kept = this.#keptOf(fence);
      if (kept.has(nameOf(fence))) kept.set(nameOf(fence), fence.revision);
    }
  }

  #keptOf({ kind }: Fence): Map<string, number> {
    const known = this.#kept.get(kind);
    if (known !== undefined) return known;
    const made = new Map<string, number>();
    this.#kept.set(kind, made);
    return made;
  }

  #read({ kind, id, name }: Fence): number {
    const sql = FENCED_REVISION[kind]('?1', '?2');
    const query = this.#db.query<{ revision: number }, string[]>(sql);
    const row = kind === 'noOverride' ? query.get(id, name) : query.get(id);
    return row?.revision ?? ABSENT;
  }
}

function isHolder({ kind }: Fence): boolean {
  return kind === 'key' || kind === 'identity';
}

/** The name of a record, unique among its kind. */
function nameOf({ id, name }: Fence): string {
  return name === '' ? id : `${id} ${name}`;
}

/** The revisions that a batch sees: its own changes on top of the committed ones. */
export class BatchRevisions {
  readonly #committed: RecordRevisions;
  readonly #own = new Map<string, Fence>();
  #endsChecks = false;

  constructor(committed: RecordRevisions) {
    this.#committed = committed;
  }

  revise(fences: readonly Fence[], ends: boolean): void {
    for (const fence of fences) this.#own.set(fencedRecord(fence), fence);
    this.#endsChecks ||= ends;
  }

  /** The batch has changed an existing record. */
  get endsChecks(): boolean {
    return this.#endsChecks;
  }

  /** 0: the batch has changed records itself, so each fence must be checked. */
  get lastChange(): number {
    return this.#own.size === 0 ? this.#committed.lastChange : 0;
  }

  /** The present revisions of the records that the batch has changed. */
  get revised(): Iterable<Fence> {
    return this.#own.values();
  }

  isCurrent(fence: Fence): boolean {
    const own = this.#own.size === 0 ? undefined : this.#own.get(fencedRecord(fence));
    return own === undefined ? this.#committed.isCurrent(fence) : own.revision === fence.revision;
  }
}
