import type { AccountState } from '../../../core/account.ts';
import type { IdempotencyKey, Spend, SpendOutcome } from '../../../core/spend.ts';
import {
  type Change,
  type ChangeOutcome,
  type ClosedWindows,
  type DueCursor,
  type DueRefill,
  type Ledger,
  StorageOutcomeUnknown,
  StorageUnavailable,
  type WindowName,
  type WindowPlace,
} from '../../port/storage.ts';
import { Deferred } from '../../port/deferred.ts';
import { pauseBeforeAgain } from '../connection/retryPause.ts';
import { type Claim, claimsOfChange, claimsOfSpend } from './locks.ts';
import type { LedgerClock } from './ledgerClock.ts';
import type { Connector } from '../connection/connector.ts';
import type { BatchOutcome } from './batch.ts';
import { batchOf } from './generalBatch.ts';
import { BatchRefused, BatchUndone, Lane } from './committers/committer.ts';
import type { Management } from '../management/management.ts';
import { isAlike, isPlain, plainBatchOf } from './plainBatch.ts';

/** Spends of one batch at the most: bounds its time and the size of its answer. */
const MAX_BATCH = 500;
/** With this many fences a batch takes no further spend; a single spend may have more. */
const MAX_FENCES = 1_000;
/** Items of the queue that are looked at for one batch: more than wait by default, so that all are seen behind a held key. */
const MAX_LOOKED_AT = 50_000;
/**
 * There is a lane for plain spends and one for the others. What has waited for so long goes by the other lane, beside the batch
 * that is under way: it is on a long way. Where the database is near, one batch after the other is better: twice as many
 * spends in a batch cost far less than twice the time.
 */
const NEXT_LANE_AFTER_MS = 5;
/**
 * A batch goes out behind the one that is under way when it has this share of all that waited at one time lately. A smaller
 * one is not worth it: to begin a batch costs the database as much as 15 rows.
 */
const NEXT_SHARE = 1 / 3;
/**
 * Of these a batch takes at most half, so that the node answers one half while the database decides the other. Those who are
 * answered together ask again together: without this, batches of 240 and 10 were seen to take turns for ever.
 */
const MAX_SHARE = 1 / 2;
/** Fewer are not halved. */
const HALVED_FROM = 32;
const MOST_DECAY = 0.98;
/** An account that was found held by another node is asked for with waiting for so long. */
const HOT_MS = 3_000;
/** How long something waits in the queue before it is refused. */
const MAX_WAIT_MS = 5_000;
const HELD_TOO_LONG = 'The counter is held by another transaction for too long; nothing was spent.';
/** How long trouble is told of, when it does not come again. */
const TROUBLE_MS = 3_000;
/** How often a batch is sent again that was not done. */
const MAX_TRIES = 5;

export interface LedgerObserver {
  committed(batchSize: number, milliseconds: number): void;
  refused(reason: string): void;
}

export interface LedgerOptions {
  readonly maxWaiting: number;
  readonly clock: LedgerClock;
  readonly random: () => number;
  readonly monotonicMs: () => number;
  readonly observe: LedgerObserver;
  /** Why nothing is heard from the database; null while it answers. */
  readonly silence: () => string | null;
  /** There are no other nodes: rows are hardly ever held by someone, and to wait for them is cheaper than to leave them alone. */
  readonly isAlone: () => boolean;
}

type Outcome = SpendOutcome | ChangeOutcome;

interface Item {
  /** Either this or a change. */
  readonly spend: Spend | null;
  readonly change: Change | null;
  readonly claims: readonly Claim[];
  readonly queuedAtMs: number;
  /** Goes into batches of plain spends. */
  isPlain: boolean;
  tries: number;
  readonly outcome: Deferred<Outcome>;
}

type SpendItem = Item & { readonly spend: Spend };
type ChangeItem = Item & { readonly change: Change };

/** A batch that came back: what has to be asked again, and how the others are answered. */
interface Sent {
  readonly again: readonly SpendItem[];
  readonly answers: readonly (() => void)[];
}

/** A connection for batches, and whether it is in use. */
interface Worker {
  readonly lane: Lane;
  /** Takes the spends of hot accounts, and waits for their rows; the others leave them alone. */
  readonly isSlow: boolean;
  /** Takes plain spends, or the others; what it does not prefer only when that has waited for a while. */
  readonly prefersPlain: boolean;
  /** Shares its connection: what it takes is there when the database is done with the batch of the other one. */
  readonly isPaired: boolean;
  isIdle: boolean;
}

/**
 * The ledger of many nodes: batches of spends, each one call of a function in the database.
 *
 *   waiting --a lane is free and its batch has room, and nothing before it needs its accounts--> in a batch
 *   in a batch --done--> answered
 *   in a batch --busy: another node holds a row--> waiting at the head; its accounts are hot for a while, and go by the slow lane
 *   in a batch --not done--> waiting at the head, a few times, each after a pause;  --refused--> the batch is halved
 *   in a plain batch --apart--> waiting at the head, for a batch of the others
 *   in a batch --a fence of it is broken--> answered stale;  --a fence of another one in the batch is--> sent again at once,
 *     without new ones, whose fences may be broken too
 *   waiting --a change--> a transaction of its own, in its turn
 *
 * No account is in two batches at once, and nothing that waits is overtaken by what came later with the same claims: what
 * this node asks is decided in the order in which it was asked, but for spends that come back as busy or from a halved batch.
 */
export class PostgresLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #management: Management;
  readonly #workers: readonly Worker[];
  #queue: Item[] = [];
  /** Claims of batches and changes that the database was asked for. */
  readonly #underWay = new Set<Claim>();
  /** Accounts that other nodes use as well, and until when that is remembered. */
  readonly #hot = new Map<Claim, number>();
  #isScheduled = false;
  /** When the turn began whose end is waited for: the clock is not asked for each spend. */
  #turnMs = 0;
  #queueTimer: ReturnType<typeof setTimeout> | null = null;
  #patienceTimer: ReturnType<typeof setTimeout> | null = null;
  #waiting = 0;
  /** Of the last batches. */
  #mostWaiting = 0;
  #trouble: string | null = null;
  #troubleAtMs = -Infinity;
  #isClosed = false;
  #drained: (() => void) | null = null;

  constructor(connector: Connector, management: Management, options: LedgerOptions) {
    this.#options = options;
    this.#management = management;
    const workers = (count: number, prefersPlain: boolean, isSlow: boolean): Worker[] =>
      Lane.share(connector, count, options).map((lane) => ({
        lane,
        isSlow,
        prefersPlain,
        isPaired: count > 1,
        isIdle: true,
      }));
    this.#workers = [...workers(2, true, false), ...workers(1, false, false), ...workers(1, true, true)];
  }

  nowMs(): number {
    return this.#options.clock.nowMs();
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Trouble that did not come again is over: nobody sends spends to a node that says it is not ready. */
  get trouble(): string | null {
    const isRecent = this.#options.monotonicMs() - this.#troubleAtMs < TROUBLE_MS;
    return this.#options.silence() ?? (isRecent ? this.#trouble : null);
  }

  spend(spend: Spend): PromiseLike<SpendOutcome> {
    return this.#enqueue(spend, null, claimsOfSpend(spend), isPlain(spend)) as PromiseLike<SpendOutcome>;
  }

  findReplay(key: IdempotencyKey): Promise<SpendOutcome | null> {
    return this.#management.findReplay(key);
  }

  apply(change: Change): Promise<ChangeOutcome> {
    return (this.#enqueue(null, change, claimsOfChange(change), false) as Deferred<ChangeOutcome>).toPromise();
  }

  /** Other nodes spend as well: what an account held a moment ago is not known to be true now. */
  peek(): undefined {
    return undefined;
  }

  read(accounts: readonly number[]): Promise<readonly (AccountState | undefined)[]> {
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

  closeEndedWindows(owner: string, count: number, after: WindowPlace | null): Promise<ClosedWindows> {
    return this.#management.closeEndedWindows(owner, count, after);
  }

  listDueRefills(dueUntilMs: number, limit: number, after: DueCursor | null): Promise<readonly DueRefill[]> {
    return this.#management.listDueRefills(dueUntilMs, limit, after);
  }

  prune(): Promise<void> {
    return this.#management.prune();
  }

  /** Waits for what is under way and lets nothing more in. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#waiting > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
    for (const timer of [this.#queueTimer, this.#patienceTimer]) if (timer !== null) clearTimeout(timer);
    await Promise.all(this.#workers.map(({ lane }) => lane.close()));
  }

  #enqueue(spend: Spend | null, change: Change | null, claims: Item['claims'], plain: boolean): Deferred<Outcome> {
    if (this.#isClosed) return Deferred.failed(new StorageUnavailable('The database is closed.'));
    if (this.#waiting >= this.#options.maxWaiting) {
      return Deferred.failed(new StorageUnavailable('Too many requests are waiting for the ledger.'));
    }
    const outcome = new Deferred<Outcome>();
    this.#waiting++;
    this.#schedule();
    this.#queue.push({ spend, change, claims, queuedAtMs: this.#turnMs, isPlain: plain, tries: 0, outcome });
    this.#watchQueue();
    return outcome;
  }

  /** After the sockets that are readable in this turn: they join the same batch. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#turnMs = this.#options.monotonicMs();
    setImmediate(() => {
      this.#isScheduled = false;
      this.#dispatchAll();
    });
  }

  #dispatchAll(): void {
    // One look at the clock for all: an account that cools down meanwhile must not be left by all of them.
    const nowMs = this.#options.monotonicMs();
    this.#mostWaiting = Math.max(this.#waiting, this.#mostWaiting * MOST_DECAY);
    const isCrowd = (): boolean => this.#queue.length >= this.#mostWaiting * NEXT_SHARE;
    const mayTake = ({ isIdle, isPaired }: Worker): boolean =>
      isIdle && this.#queue.length > 0 && (!isPaired || isCrowd() || this.#isPairIdle);
    for (const worker of this.#workers) if (mayTake(worker)) this.#dispatch(worker, worker.prefersPlain, nowMs);
    for (const worker of this.#workers) {
      if (!mayTake(worker)) continue;
      const hasWaited = nowMs - (this.#queue[0]?.queuedAtMs ?? nowMs) >= NEXT_LANE_AFTER_MS;
      if (worker.isSlow || hasWaited) this.#dispatch(worker, !worker.prefersPlain, nowMs);
      else this.#lookAgain();
    }
  }

  get #isPairIdle(): boolean {
    return this.#workers.every(({ isPaired, isIdle }) => !isPaired || isIdle);
  }

  #lookAgain(): void {
    this.#patienceTimer ??= setTimeout(() => {
      this.#patienceTimer = null;
      if (this.#queue.length > 0) this.#schedule();
    }, NEXT_LANE_AFTER_MS);
  }

  /** What has waited for too long without being sent is refused: it was not done. */
  #watchQueue(): void {
    this.#queueTimer ??= setTimeout(() => {
      this.#queueTimer = null;
      const oldestMs = this.#options.monotonicMs() - MAX_WAIT_MS;
      const late = this.#queue.filter(({ queuedAtMs }) => queuedAtMs < oldestMs);
      if (late.length > 0) this.#queue = this.#queue.filter(({ queuedAtMs }) => queuedAtMs >= oldestMs);
      const error = new StorageUnavailable('The database did not get to this in time; nothing was spent or changed.');
      for (const item of late) this.#reject(item, error);
      for (const [claim, untilMs] of this.#hot) if (untilMs < this.#options.monotonicMs()) this.#hot.delete(claim);
      if (this.#queue.length > 0) this.#watchQueue();
      this.#noteDrained();
    }, MAX_WAIT_MS / 5);
  }

  #dispatch(worker: Worker, plain: boolean, nowMs: number): void {
    if (!this.#queue.some((item) => item.isPlain === plain)) return;
    const batch = this.#take(plain, worker, nowMs);
    if (batch.length === 0) return;
    worker.isIdle = false;
    void this.#run(worker, batch);
  }

  async #run(worker: Worker, batch: readonly SpendItem[]): Promise<void> {
    const { again, answers } = await this.#send(worker, batch);
    worker.isIdle = true;
    this.#finish(batch, again);
    // The next batch goes out before these are answered: the database works on it meanwhile.
    this.#dispatchAll();
    for (const answer of answers) answer();
    this.#noteDrained();
  }

  /** The next batch, from the head of the queue; changes that stand in it are started. The rest stays, in its order. */
  #take(plain: boolean, { isSlow, isPaired }: Worker, nowMs: number): SpendItem[] {
    let batch: SpendItem[] = [];
    let left: Item[] = [];
    const inBatch = new Map<Claim, SpendItem>();
    // What stays comes before all that is behind it with the same claims.
    const passed = new Set<Claim>();
    // Accounts from which plain spends and others want to take.
    const mixed = new Set<Claim>();
    const isHalved = plain && isPaired && this.#mostWaiting >= HALVED_FROM;
    const most = isHalved ? Math.ceil(this.#mostWaiting * MAX_SHARE) : MAX_BATCH;
    // One more of an account costs nothing, and could not go into the other half.
    const hasRoom = ({ claims }: Item): boolean => inBatch.size < most || hasAny(inBatch, claims);
    let looked = 0;
    let fences = 0;
    const hasSpace = (): boolean => batch.length < MAX_BATCH && fences < MAX_FENCES;
    for (; looked < this.#queue.length && looked < MAX_LOOKED_AT && hasSpace(); looked++) {
      const item = this.#queue[looked] as Item;
      const isFree = !hasAny(this.#underWay, item.claims) && !hasAny(passed, item.claims);
      if (isFree && isChange(item) && !item.claims.some((claim) => inBatch.has(claim))) {
        for (const claim of item.claims) this.#underWay.add(claim);
        void this.#change(item);
      } else if (
        isFree &&
        isSpend(item) &&
        hasRoom(item) &&
        this.#isHot(item, nowMs) === isSlow &&
        joins(item, inBatch, plain)
      ) {
        batch.push(item);
        fences += item.spend.fences.length;
        for (const claim of item.claims) inBatch.set(claim, item);
      } else {
        left.push(item);
        for (const claim of item.claims) {
          passed.add(claim);
          if (plain && isFree && isSpend(item) && inBatch.has(claim)) mixed.add(claim);
        }
      }
    }
    if (mixed.size > 0) {
      const apart = batch.filter(({ claims }) => claims.some((claim) => mixed.has(claim)));
      for (const item of apart) item.isPlain = false;
      for (const claim of mixed) inBatch.delete(claim);
      batch = batch.filter((item) => item.isPlain);
      left = [...apart, ...left];
    }
    this.#queue = [...left, ...this.#queue.slice(looked)];
    for (const claim of inBatch.keys()) this.#underWay.add(claim);
    return batch;
  }

  #isHot({ claims }: Item, nowMs: number): boolean {
    if (this.#hot.size === 0) return false;
    return claims.some((claim) => {
      const untilMs = this.#hot.get(claim);
      if (untilMs === undefined) return false;
      if (nowMs < untilMs) return true;
      this.#hot.delete(claim);
      return false;
    });
  }

  async #change(item: ChangeItem): Promise<void> {
    try {
      this.#answer(item, await this.#management.apply(item.change));
    } catch (error) {
      this.#reject(item, error as Error);
    }
    this.#finish([item], []);
    this.#schedule();
    this.#noteDrained();
  }

  /** What has to be asked again comes before all that came later. */
  #finish(items: readonly Item[], again: readonly Item[]): void {
    for (const { claims } of items) for (const claim of claims) this.#underWay.delete(claim);
    if (again.length > 0) this.#queue = [...again, ...this.#queue];
    if (this.#queue.length > 0) this.#watchQueue();
  }

  #noteDrained(): void {
    if (this.#waiting === 0) this.#drained?.();
  }

  /** Never throws. */
  async #send(worker: Worker, items: readonly SpendItem[]): Promise<Sent> {
    const startedAtMs = this.#options.monotonicMs();
    try {
      const spends = items.map(({ spend }) => spend);
      const plain = items[0]?.isPlain === true;
      const mayWait = plain && this.#options.isAlone() && this.#workers.every(({ lane }) => lane.waitsBriefly);
      const waits = worker.isSlow ? 'first' : mayWait ? 'briefly' : 'never';
      const outcomes = await worker.lane.run(plain ? plainBatchOf(spends) : batchOf(spends), waits);
      this.#trouble = null;
      this.#options.observe.committed(items.length, this.#options.monotonicMs() - startedAtMs);
      const isAgain = items.map((item, i) => this.#comesAgain(item, outcomes[i], worker.isSlow));
      const answer = (): void => {
        for (let i = 0; i < items.length; i++)
          if (isAgain[i] === false && outcomes[i] !== 'again')
            this.#settle(items[i] as SpendItem, outcomes[i], startedAtMs);
      };
      const sent: Sent = { again: items.filter((_, i) => isAgain[i]), answers: [answer] };
      const unbroken = items.filter((_, i) => outcomes[i] === 'again');
      return unbroken.length === 0 ? sent : joined(sent, await this.#send(worker, unbroken));
    } catch (error) {
      return this.#fail(worker, items, error as Error);
    }
  }

  #comesAgain(item: SpendItem, outcome: BatchOutcome | undefined, hasWaited: boolean): boolean {
    if (outcome === 'apart') {
      item.isPlain = false;
      return true;
    }
    if (outcome !== 'busy' || hasWaited) return false;
    const untilMs = this.#options.monotonicMs() + HOT_MS;
    for (const claim of item.claims) if (typeof claim === 'number') this.#hot.set(claim, untilMs);
    return true;
  }

  /** What does not come again. */
  #settle(item: SpendItem, outcome: BatchOutcome | undefined, sentAtMs: number): void {
    if (typeof outcome === 'string') return this.#reject(item, new StorageUnavailable(HELD_TOO_LONG));
    if (outcome === undefined) return this.#reject(item, new Error('the database left a spend unanswered'));
    if (outcome.status === 'stale') {
      // It may have been asked for another refill epoch than the database is in, and is asked again at once.
      this.#options.clock.keepWithin(sentAtMs, outcome.nowMs);
      if (outcome.fence === null) for (const { account } of item.spend.legs) this.#management.forgetWindow(account);
    }
    this.#answer(item, outcome);
  }

  async #fail(worker: Worker, items: readonly SpendItem[], error: Error): Promise<Sent> {
    if (error instanceof BatchRefused) return this.#halve(worker, items, error);
    const isUndone = error instanceof BatchUndone;
    const again = isUndone ? items.filter(({ tries }) => tries < MAX_TRIES) : [];
    if (again.length < items.length) {
      const over = items.filter((item) => !again.includes(item));
      const told = isUndone
        ? new StorageUnavailable(`The database is in trouble (${error.message}); nothing was spent.`)
        : error;
      this.#giveUp(over, told);
    }
    for (const item of again) item.tries++;
    const most = again.reduce((tries, item) => Math.max(tries, item.tries), 0);
    if (most > 0) await pauseBeforeAgain(most, this.#options.random);
    return { again, answers: [] };
  }
  #giveUp(items: readonly SpendItem[], error: Error): void {
    const known = error instanceof StorageUnavailable || error instanceof StorageOutcomeUnknown;
    const told = known ? error : new StorageOutcomeUnknown(error.message);
    this.#trouble = told.message;
    this.#troubleAtMs = this.#options.monotonicMs();
    this.#options.observe.refused(told.message);
    for (const item of items) this.#reject(item, told);
  }

  /** Only the spend that fails alone is answered so. */
  async #halve(worker: Worker, items: readonly SpendItem[], error: BatchRefused): Promise<Sent> {
    const [only] = items;
    if (only !== undefined && items.length === 1) {
      this.#answer(only, { status: 'failed', reason: error.message });
      return { again: [], answers: [] };
    }
    const middle = Math.ceil(items.length / 2);
    return joined(await this.#send(worker, items.slice(0, middle)), await this.#send(worker, items.slice(middle)));
  }

  #answer(item: Item, outcome: Outcome): void {
    this.#waiting--;
    item.outcome.know(outcome);
  }

  #reject(item: Item, error: Error): void {
    this.#waiting--;
    item.outcome.fail(error);
  }
}

function joined(first: Sent, second: Sent): Sent {
  return { again: [...first.again, ...second.again], answers: [...first.answers, ...second.answers] };
}

function isSpend(item: Item): item is SpendItem {
  return item.spend !== null;
}

function isChange(item: Item): item is ChangeItem {
  return item.change !== null;
}

function hasAny(among: ReadonlySet<Claim> | ReadonlyMap<Claim, unknown>, claims: readonly Claim[]): boolean {
  if (among.size === 0) return false;
  for (let i = 0; i < claims.length; i++) if (among.has(claims[i] as Claim)) return true;
  return false;
}

/**
 * Whether it goes into a batch of plain spends, or of others. Spends of one account shall not wait for each other: a plain one
 * that is not like those before it becomes one of the others, as do those (`mixed`), and as does one whose account stands in
 * such a batch.
 */
function joins(item: SpendItem, inBatch: ReadonlyMap<Claim, SpendItem>, plain: boolean): boolean {
  const [leg] = item.spend.legs;
  if (!plain) {
    if (item.isPlain && !inBatch.has(leg?.account ?? -1)) return false;
    item.isPlain = false;
    // An idempotency key stands in a batch once: the second has to find what the first leaves.
    return item.claims.every((claim) => typeof claim === 'number' || !inBatch.has(claim));
  }
  if (!item.isPlain || leg === undefined) return false;
  const before = inBatch.get(leg.account)?.spend.legs[0];
  if (before !== undefined && !isAlike(leg, before)) item.isPlain = false;
  return item.isPlain;
}
