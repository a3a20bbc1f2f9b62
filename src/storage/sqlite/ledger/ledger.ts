import type { Database } from 'bun:sqlite';

import { MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../core/bounds.ts';
import type { EndOutcome, NewReservation, Reservation, ReserveOutcome, UserEnding } from '../../../core/reservation.ts';
import type { IdempotencyKey, Spend, SpendOutcome } from '../../../core/spend.ts';
import {
  type Change,
  type ChangeOutcome,
  type ClosedWindows,
  type DueCursor,
  type DueOwner,
  type ExpiredReservation,
  type Ledger,
  PRUNE_GRACE_MS,
  type ReadAccount,
  StorageDamaged,
  StorageOutcomeUnknown,
  StorageUnavailable,
  type WindowName,
  type WindowCursor,
} from '../../port/storage.ts';
import { AccountNumbers, Accounts, LogApplier, replayLog } from '../accounts.ts';
import { AdHocWindows } from './adHocWindows.ts';
import { Batch, Idempotency, SqliteStoredCredits, type Work, type WorkOutcome, RecordRevisions } from './batch.ts';
import { answerAll, BatchQueue, CommitPath, failAll, failedAlone, type Item, NOT_DONE } from './commitQueue.ts';
import type { DirectLog } from '../writer/commit.ts';
import { endsWriting, isDamage, toWriteFailure, WriteFailure } from '../file/writeFailure.ts';
import { Deferred } from '../../port/deferred.ts';
import type { SqliteThread } from '../thread/threadClient.ts';
import { deleteEnded } from '../../sql/query/queries.ts';

/** A change with more records and accounts than this takes as long as many batches of spends. */
const HEAVY_CHANGE = 200;

function isHeavy(work: Work): boolean {
  return 'change' in work && work.change.writes.length + work.change.accounts.length > HEAVY_CHANGE;
}

/**
 * The embedded ledger: group commit over a copy of the accounts in memory. The queue (commitQueue.ts) hands over one batch at a time:
 *
 *   deciding --batch has writes--> committing --durable--> memory takes over the batch, and its answers leave
 *   committing --refused--> the batch is halved and each half is decided again; an item that fails alone is answered alone
 *   committing --disk full, busy or too many open files--> the batch is forgotten, all its items fail with "not done"
 *   committing --broken--> all its items fail with "outcome unknown", and nothing is accepted any more
 *
 * A batch is decided only when no commit is under way, so memory equals the disk.
 */
export class SqliteLedger implements Ledger {
  readonly #db: Database;
  readonly #writer: SqliteThread;
  readonly #commitPath: CommitPath;
  readonly #options: LedgerOptions;
  readonly #accounts: Accounts;
  readonly #idempotency: Idempotency;
  readonly #revisions: RecordRevisions;
  readonly #credits: SqliteStoredCredits;
  readonly #reads: ReadAccounts;
  readonly #logApplier: LogApplier;
  readonly #windows: AdHocWindows;
  readonly #numbers: AccountNumbers;
  readonly #queue = new BatchQueue<Item>((items) => this.#runUnlessBroken(items));
  #state: 'open' | 'broken' | 'closed' = 'open';
  #number: number;
  #refusal: string | null = null;
  #recordChanges = 0;

  constructor(db: Database, writer: SqliteThread, direct: DirectLog, options: LedgerOptions) {
    this.#db = db;
    this.#writer = writer;
    this.#commitPath = new CommitPath(writer, direct);
    this.#options = options;
    this.#accounts = new Accounts(db);
    this.#revisions = new RecordRevisions(db);
    this.#credits = new SqliteStoredCredits(db);
    this.#reads = new ReadAccounts(this.#accounts, this.#credits, () => this.nowMs());
    this.#idempotency = new Idempotency(db, options.idempotencyRetentionMs);
    this.#number = replayLog(db, this.#accounts);
    this.#numbers = new AccountNumbers(writer);
    this.#windows = new AdHocWindows(db, {
      nowMs: () => this.nowMs(),
      peek: (account) => this.peek(account),
      reserveAccounts: (count) => this.reserveAccounts(count),
      applyWindows: (change) => this.#enqueue<ChangeOutcome>({ change }).toPromise(),
    });
    this.#logApplier = new LogApplier(this.#accounts, writer, {
      number: () => this.#number,
      failed: (reason) => options.observe.applyFailed(reason),
    });
  }

  /** Number of the last durable commit. */
  get number(): number {
    return this.#number;
  }

  /** The number of commits so far that changed a record. */
  get recordChanges(): number {
    return this.#recordChanges;
  }

  nowMs(): number {
    return this.#options.nowMs();
  }

  get waiting(): number {
    return this.#queue.length;
  }

  get commitFailure(): string | null {
    return this.#refusal;
  }

  spend(spend: Spend): PromiseLike<SpendOutcome> {
    return this.#enqueue<SpendOutcome>({ spend });
  }

  findAnswer(key: IdempotencyKey): Promise<SpendOutcome | null> {
    return this.#enqueue<SpendOutcome | null>({ lookUp: key }).toPromise();
  }

  apply(change: Change): Promise<ChangeOutcome> {
    return this.#enqueue<ChangeOutcome>({ change }).toPromise();
  }

  reserve(spend: Spend, wanted: NewReservation): Promise<ReserveOutcome> {
    return this.#enqueue<ReserveOutcome>({ reserve: spend, wanted }).toPromise();
  }

  endReservation(id: string, ending: UserEnding): Promise<EndOutcome> {
    return this.#enqueue<EndOutcome>({ end: id, ending, event: null }).toPromise();
  }

  /** They are queued together, so they share a commit. */
  async expireReservations(expired: readonly ExpiredReservation[]): Promise<readonly Reservation[]> {
    const outcomes = await Promise.all(
      expired.map(({ reservation: { id }, marks, event }) =>
        this.#enqueue<EndOutcome>({ end: id, ending: { kind: 'expire', marks }, event }).toPromise(),
      ),
    );
    return outcomes.flatMap((outcome) => (outcome.status === 'done' ? outcome.reservation : []));
  }

  peek(account: number): ReadAccount | undefined {
    return this.#reads.peek(account);
  }

  read(accounts: readonly number[]): Promise<readonly (ReadAccount | undefined)[]> {
    return this.#reads.read(accounts);
  }

  reserveAccounts(count: number): Promise<readonly number[]> {
    return this.#numbers.reserve(count);
  }

  openWindow(window: WindowName, max: number | null): Promise<number | null> {
    return this.#windows.open(window, max);
  }

  async countWindows(owner: string, upTo: number): Promise<number> {
    return this.#windows.count(owner, upTo);
  }

  closeEndedWindows(owner: string, count: number, after: WindowCursor | null): Promise<ClosedWindows> {
    return this.#windows.closeOf(owner, count, after);
  }

  async listDue(dueUntilMs: number, limit: number, after: DueCursor | null): Promise<readonly DueOwner[]> {
    // The index covers only what is applied. Applying once per pass is enough: the pass writes only rows before its cursor.
    if (after === null) await this.applyLog();
    return readDueOwners(this.#db, dueUntilMs, limit, after);
  }

  /** Applies everything that is committed now to the accounts table. */
  applyLog(): Promise<void> {
    return this.#logApplier.catchUp();
  }

  async prune(): Promise<void> {
    const endedAtMs = this.nowMs() - PRUNE_GRACE_MS;
    const parts: readonly (() => Promise<unknown>)[] = [
      () => this.#enqueue({ rotateIdempotency: true }).toPromise(),
      () => this.#windows.prune(endedAtMs),
      () => this.#writer.call('write', deleteEnded(endedAtMs)),
      () => this.#options.pruneLocalCounts(endedAtMs),
    ];
    // If one part fails, the others still run.
    const failures: unknown[] = [];
    for (const part of parts) await part().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  /** Accepts nothing more, waits for what is under way, and applies the log. */
  async close(): Promise<void> {
    if (this.#writer.isBroken) return;
    await this.#queue.untilIdle();
    this.#state = 'closed';
    await this.#logApplier.finish();
  }

  #enqueue<T extends WorkOutcome>(work: Work): Deferred<T> {
    if (this.#writer.isBroken || this.#state !== 'open') {
      return Deferred.failed(new StorageUnavailable('The database is closed or has failed.'));
    }
    if (this.#queue.length >= this.#options.maxWaiting) {
      return Deferred.failed(new StorageUnavailable('Too many requests are waiting for the ledger.'));
    }
    const answer = new Deferred<T>();
    this.#queue.add({ work, answer: answer as unknown as Deferred<WorkOutcome> }, isHeavy(work));
    return answer;
  }

  async #runUnlessBroken(items: readonly Item[]): Promise<void> {
    if (this.#state === 'broken') failAll(items, new StorageUnavailable('The database has failed.'));
    else await this.#run(items);
  }

  /** Decides and commits. Never throws, because every item is answered here. */
  async #run(items: readonly Item[]): Promise<void> {
    const committed = {
      accounts: this.#accounts,
      idempotency: this.#idempotency,
      revisions: this.#revisions,
      credits: this.#credits,
    };
    const batch = new Batch(committed, this.nowMs(), MAX_LIVE_IDEMPOTENCY_KEYS);
    const outcomes = items.map((item) => this.#decide(batch, item));
    try {
      if (!batch.isEmpty) await this.#commit(batch, items.length);
    } catch (error) {
      return this.#fail(items, toWriteFailure(error));
    }
    answerAll(items, outcomes);
  }

  /** An item that cannot be decided (its row cannot be read) fails alone. It has added nothing to the batch. */
  #decide(batch: Batch, item: Item): WorkOutcome | Error {
    try {
      return batch.decide(item.work);
    } catch (error) {
      if (error instanceof StorageDamaged) return error;
      if (isDamage(error)) this.#writer.breakDown(toWriteFailure(error));
      const reason = error instanceof Error ? error.message : String(error);
      return failedAlone(item.work, reason) ?? new Error(reason);
    }
  }

  async #commit(batch: Batch, size: number): Promise<void> {
    const end = this.#reads.begin(batch);
    try {
      await this.#write(batch, size);
    } finally {
      end();
    }
  }

  async #write(batch: Batch, size: number): Promise<void> {
    if (this.#writer.isBroken) throw new WriteFailure('broken', 'the database has failed');
    const startedAt = performance.now();
    const number = this.#number + 1;
    await this.#commitPath.commit(batch, number);
    if (batch.changesRecords) this.#recordChanges++;
    this.#number = number;
    this.#refusal = null;
    this.#accounts.adopt(batch.accounts);
    this.#revisions.adopt(batch.revisions);
    if (batch.rotates) this.#idempotency.rotated(batch.rotation);
    for (const { key } of batch.answers.values()) this.#idempotency.committed(key.scope);
    this.#options.observe.committed(size, performance.now() - startedAt);
    this.#logApplier.consider();
  }

  async #fail(items: readonly Item[], failure: WriteFailure): Promise<void> {
    if (failure.kind === 'refused') return this.#halve(items, failure);
    if (!endsWriting(failure.kind)) return this.#refuse(items, NOT_DONE[failure.kind]);
    this.#state = 'broken';
    failAll(items, new StorageOutcomeUnknown(`The database has failed (${failure.message}).`));
  }

  #refuse(items: readonly Item[], reason: string): void {
    this.#refusal = reason;
    this.#options.observe.refused(reason);
    failAll(items, new StorageUnavailable(reason));
  }

  async #halve(items: readonly Item[], failure: WriteFailure): Promise<void> {
    const [only] = items;
    if (only !== undefined && items.length === 1) {
      if ('end' in only.work) return only.answer.fail(new Error(failure.message));
      return only.answer.know(failedAlone(only.work, failure.message) ?? { status: 'stale', nowMs: this.nowMs() });
    }
    const middle = Math.ceil(items.length / 2);
    await this.#run(items.slice(0, middle));
    await this.#run(items.slice(middle));
  }
}

interface LedgerOptions {
  readonly nowMs: () => number;
  /** How many spends and changes may wait. Further ones are refused at once. */
  readonly maxWaiting: number;
  readonly idempotencyRetentionMs: number;
  /** Removes the local counts of windows that have ended by then. */
  readonly pruneLocalCounts: (endedAtMs: number) => Promise<void>;
  readonly observe: LedgerObserver;
}

/** Reports to the metrics and the log. */
export interface LedgerObserver {
  committed(batchSize: number, milliseconds: number): void;
  applyFailed(reason: string): void;
  /** The number of the last commit could not be written beside the database. It will be retried. */
  noteFailed(reason: string): void;
  /** A batch was not done; the next one may succeed. */
  refused(reason: string): void;
}

/** A running commit that changes more than balances. */
interface Committing {
  readonly batch: Batch;
  readonly done: Promise<void>;
}

/**
 * Reads accounts with their pockets. The accounts are in memory, the pockets in the file. From the end of a commit until memory has adopted
 * it, the file is ahead of memory, so a reader of an account of that commit waits.
 */
class ReadAccounts {
  readonly #accounts: Accounts;
  readonly #credits: SqliteStoredCredits;
  readonly #nowMs: () => number;
  #committing: Committing | null = null;

  constructor(accounts: Accounts, credits: SqliteStoredCredits, nowMs: () => number) {
    this.#accounts = accounts;
    this.#credits = credits;
    this.#nowMs = nowMs;
  }

  /** Called when a commit begins. Call the returned function when memory has adopted the commit, or when it has failed. */
  begin(batch: Batch): () => void {
    if (batch.isPlain) return () => undefined;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#committing = { batch, done };
    return () => {
      this.#committing = null;
      resolve();
    };
  }

  /** Pockets are included when they may matter, that is when something is due. They are unknown while a commit changes them. */
  peek(account: number): ReadAccount | undefined {
    const state = this.#accounts.get(account);
    const isDue = state !== undefined && state.dueAtMs !== 0 && this.#nowMs() >= state.dueAtMs;
    if (!isDue) return state;
    return this.#isChanging([account]) ? undefined : this.#read(account);
  }

  async read(accounts: readonly number[]): Promise<readonly (ReadAccount | undefined)[]> {
    if (this.#isChanging(accounts)) {
      await this.#committing?.done;
      return this.read(accounts);
    }
    return accounts.map((id) => this.#read(id));
  }

  #isChanging(accounts: readonly number[]): boolean {
    const batch = this.#committing?.batch;
    return batch !== undefined && accounts.some((account) => batch.accounts.has(account));
  }

  #read(account: number): ReadAccount | undefined {
    const state = this.#accounts.get(account);
    const pockets = state === undefined ? null : this.#credits.pockets(account);
    return state === undefined || pockets === null ? state : { ...state, pockets };
  }
}

/** Uses the index accounts_due, in its order. An account that belongs to neither a key nor an identity has no refill. */
const DUE = `SELECT a.id AS account, a.due_at_ms AS dueAtMs, coalesce(k.id, i.id) AS owner
  FROM accounts a LEFT JOIN keys k ON k.credits_account = a.id LEFT JOIN identities i ON i.credits_account = a.id
  WHERE coalesce(k.id, i.id) IS NOT NULL AND a.due_at_ms > 0 AND a.due_at_ms <= ?1 AND (a.due_at_ms, a.id) > (?2, ?3)
  ORDER BY a.due_at_ms, a.id LIMIT ?4`;

/** Accounts whose refill is due, as the accounts table has them. */
function readDueOwners(db: Database, dueUntilMs: number, limit: number, after: DueCursor | null): readonly DueOwner[] {
  return db.query(DUE).all(dueUntilMs, after?.dueAtMs ?? 0, after?.account ?? 0, limit) as DueOwner[];
}
