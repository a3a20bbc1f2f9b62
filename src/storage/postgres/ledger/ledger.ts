import type { EndOutcome, NewReservation, Reservation, ReserveOutcome, UserEnding } from '../../../core/reservation.ts';
import type { IdempotencyKey, Spend, SpendOutcome } from '../../../core/spend.ts';
import type {
  Change,
  ChangeOutcome,
  ClosedWindows,
  DueCursor,
  DueOwner,
  ExpiredReservation,
  Ledger,
  ReadAccount,
  RefusalCause,
  WindowName,
  WindowCursor,
} from '../../port/storage.ts';
import type { Connector } from '../connection/connector.ts';
import type { LastSeenChange } from '../freshness/freshness.ts';
import type { Management } from '../management/management.ts';
import { BatchRunner, type LedgerObserver } from './batchRunner.ts';
import { Committer } from './committer.ts';
import { ContendedAccounts, Queue, type QueuedChange, type QueuedSpend, type QueueItem } from './queue.ts';
import { type CommitterState, dispatch, LEND_AFTER_MS, type PlannedBatch } from './chooseBatch.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { type Lock, locksOfChange, locksOfSpend } from './fences.ts';

/** How much of the recentPeak is remembered from one dispatch to the next. */
const PEAK_DECAY = 0.98;

export interface LedgerOptions {
  readonly maxWaiting: number;
  readonly clock: LedgerClock;
  readonly lastSeenChange: LastSeenChange;
  readonly random: () => number;
  readonly monotonicMs: () => number;
  readonly observe: LedgerObserver;
  /** Why the database does not answer; null = it answers. */
  readonly silence: () => string | null;
  /** A pooler is the reason. */
  readonly isPooled: () => boolean;
}

interface LedgerCommitter extends CommitterState {
  readonly committer: Committer;
  isIdle: boolean;
}

type LedgerBatch = PlannedBatch<QueueItem, LedgerCommitter>;

/**
 * The ledger of many nodes: batches of spends, each one call of a function in the database. The queue holds waiting items, `dispatch`
 * decides which of them go out on which committer, and the runner sends a batch and reads its outcomes.
 *
 *   queued --a committer is idle, and nothing before it needs its locks--> in flight
 *   in flight --done--> answered
 *   in flight --not done: see BatchRunner--> at the head of the queue
 *   queued --a change--> a transaction in its turn, which it may share with other changes: see ChangeGroups
 *
 * No lock is in flight twice, and nothing overtakes an earlier item with the same lock. So what this node asks is decided in the order in
 * which it was asked, except for spends that come back as busy or from a halved batch.
 */
export class PostgresLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #management: Management;
  readonly #queue: Queue;
  readonly #runner: BatchRunner;
  readonly #contended = new ContendedAccounts();
  readonly #committers: readonly LedgerCommitter[];
  /** Of the batches and changes in flight. */
  readonly #locked = new Set<Lock>();
  /** The most that waited at one time lately. */
  #recentPeak = 0;
  #isScheduled = false;
  /** When the present turn began: reading the clock for each spend would cost more. */
  #turnMs = 0;
  #lookAgainTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(connector: Connector, management: Management, options: LedgerOptions) {
    this.#options = options;
    this.#management = management;
    this.#queue = new Queue(options);
    this.#runner = new BatchRunner({ ...options, queue: this.#queue, contended: this.#contended, management });
    const committers = (role: CommitterState['role'], count: number): LedgerCommitter[] =>
      Committer.share(connector, count, options).map((committer) => ({ role, committer, isIdle: true }));
    this.#committers = [...committers('plain', 2), ...committers('general', 1), ...committers('contended', 1)];
  }

  nowMs(): number {
    return this.#options.clock.nowMs();
  }

  get waiting(): number {
    return this.#queue.unanswered;
  }

  get commitFailure(): string | null {
    return this.#options.silence() ?? this.#runner.recentFailure;
  }

  get commitRefusedFor(): RefusalCause | null {
    if (this.#options.isPooled()) return 'pooler';
    return this.#options.silence() === null ? this.#runner.recentRefusal : null;
  }

  spend(spend: Spend): PromiseLike<SpendOutcome> {
    this.#schedule();
    return this.#queue.addSpend(spend, this.#turnMs);
  }

  apply(change: Change): Promise<ChangeOutcome> {
    this.#schedule();
    return this.#queue.addChange(locksOfChange(change), () => this.#management.apply(change), this.#turnMs).toPromise();
  }

  async reserve(spend: Spend, wanted: NewReservation): Promise<ReserveOutcome> {
    this.#schedule();
    const run = (): Promise<ReserveOutcome> => this.#management.reservations.reserve(spend, wanted);
    const locks = locksOfSpend({ ...spend, idempotency: null });
    const outcome = await this.#queue.addChange(locks, run, this.#turnMs).toPromise();
    if (outcome.spend.status === 'stale' && outcome.spend.fence === null) {
      for (const { account } of spend.charges) this.#management.forgetWindow(account);
    }
    return outcome;
  }

  async endReservation(id: string, ending: UserEnding): Promise<EndOutcome> {
    const known = await this.#management.findReservation(id);
    if (known === null) return { status: 'unknown' };
    this.#schedule();
    const run = (): Promise<EndOutcome> => this.#management.reservations.end(known, ending);
    const locks = known.parts.map(({ account }) => account);
    return this.#queue.addChange(locks, run, this.#turnMs).toPromise();
  }

  findAnswer(key: IdempotencyKey): Promise<SpendOutcome | null> {
    return this.#management.findRemembered(key);
  }

  expireReservations(expired: readonly ExpiredReservation[]): Promise<readonly Reservation[]> {
    this.#schedule();
    const locks = [...new Set(expired.flatMap(({ reservation }) => reservation.parts.map(({ account }) => account)))];
    const run = () => this.#management.reservations.expire(expired);
    return this.#queue.addChange(locks, run, this.#turnMs).toPromise();
  }

  /** Other nodes spend as well, so what an account held a moment ago may be wrong now. */
  peek(): undefined {
    return undefined;
  }

  read(accounts: readonly number[]): Promise<readonly (ReadAccount | undefined)[]> {
    return this.#management.read(accounts);
  }

  reserveAccounts(count: number): Promise<readonly number[]> {
    return this.#management.reserveAccounts(count);
  }

  openWindow(window: WindowName, max: number | null): Promise<number | null> {
    return this.#management.openWindow(window, max);
  }

  countWindows(owner: string, upTo: number): Promise<number> {
    return this.#management.countWindows(owner, upTo);
  }

  closeEndedWindows(owner: string, count: number, after: WindowCursor | null): Promise<ClosedWindows> {
    return this.#management.closeEndedWindows(owner, count, after);
  }

  listDue(dueUntilMs: number, limit: number, after: DueCursor | null): Promise<readonly DueOwner[]> {
    return this.#management.listDue(dueUntilMs, limit, after);
  }

  prune(): Promise<void> {
    return this.#management.prune();
  }

  /** Refuses new items and waits for the others. */
  async close(): Promise<void> {
    await this.#queue.close();
    if (this.#lookAgainTimer !== null) clearTimeout(this.#lookAgainTimer);
    await Promise.all(this.#committers.map(({ committer }) => committer.close()));
  }

  /** Dispatches after all sockets that are readable in this turn: their spends join the same batch. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#turnMs = this.#options.monotonicMs();
    setImmediate(() => {
      this.#isScheduled = false;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    const nowMs = this.#options.monotonicMs();
    this.#contended.forgetOld(nowMs);
    this.#recentPeak = Math.max(this.#queue.unanswered, this.#recentPeak * PEAK_DECAY);
    const { batches, changes, rest, looksAgain } = dispatch<QueueItem, LedgerCommitter>({
      items: this.#queue.items,
      committers: this.#committers,
      locked: this.#locked,
      contended: this.#contended,
      recentPeak: this.#recentPeak,
      nowMs,
    });
    this.#queue.keep(rest);
    for (const change of changes) void this.#apply(change as QueuedChange);
    for (const batch of batches) void this.#send(batch);
    if (looksAgain) this.#lookAgain();
  }

  #lookAgain(): void {
    this.#lookAgainTimer ??= setTimeout(() => {
      this.#lookAgainTimer = null;
      if (!this.#queue.isEmpty) this.#schedule();
    }, LEND_AFTER_MS);
  }

  async #send({ committer, form, items, waits }: LedgerBatch): Promise<void> {
    const spends = items as readonly QueuedSpend[];
    committer.isIdle = false;
    this.#lock(items);
    const { putBack, answers } = await this.#runner.run({ committer: committer.committer, form, items: spends, waits });
    committer.isIdle = true;
    this.#unlock(items);
    this.#queue.putBack(putBack);
    // The next batch goes out before these are answered, so that the database works on it meanwhile.
    this.#dispatch();
    for (const answer of answers) answer();
    this.#queue.noteAnswered();
  }

  async #apply(item: QueuedChange): Promise<void> {
    this.#lock([item]);
    try {
      this.#queue.answerChange(item, await item.run());
    } catch (error) {
      this.#queue.reject(item, error as Error);
    }
    this.#unlock([item]);
    this.#schedule();
    this.#queue.noteAnswered();
  }

  #lock(items: readonly QueueItem[]): void {
    for (const { locks } of items) for (const lock of locks) this.#locked.add(lock);
  }

  #unlock(items: readonly QueueItem[]): void {
    for (const { locks } of items) for (const lock of locks) this.#locked.delete(lock);
  }
}
