import { dropFirst } from '../../basics/dropFirst.ts';
import { AppError } from '../../core/errors.ts';
import type { ClosedWindows, Ledger, WindowCursor, WindowName } from '../../storage/port/storage.ts';

/** Accounts kept in memory, so that each counter is looked up by name only once. */
const MAX_KNOWN = 100_000;
/** Namespaces whose number of counters is kept in memory. */
const MAX_COUNTED = 10_000;
/** The shortest time between two counts of a namespace's counters by the database. */
const COUNT_EVERY_MS = 1_000;
/** A full namespace is counted less often. Counting a million takes SQLite 80 ms, during which nothing else is answered. */
const COUNT_FULL_EVERY_MS = 10_000;
/** Counters that one step checks when the namespace is full. */
const CLOSE_STEP = 1_000;
/** After a step that found fewer than half of its counters ended, no other step begins for this long. */
const CLOSE_EVERY_MS = 1_000;
/** How often a request tries again after ended counters were closed: other requests may use the space first. */
const MAX_TRIES = 3;
/** On a shared database, the namespace is counted again when this node has used this share of the space that was left. */
const RECOUNT_SHARE = 1 / 16;

interface StrictWindow {
  readonly namespaceId: string;
  readonly identifier: string;
  readonly durationMs: number;
}

interface StrictWindowsOptions {
  readonly ledger: Ledger;
  readonly maxPerNamespace: number;
  /** Other nodes open counters in the same database. */
  readonly isShared: boolean;
}

/**
 * Finds the accounts of strict standalone limits, and bounds their number per namespace. When its window has ended, a counter can be
 * removed from the database although it is kept here. A spend on it is then stale: the caller forgets it and asks again. A full
 * namespace keeps its counters, and those whose window has ended make space for new ones.
 */
export class StrictWindows {
  readonly #options: StrictWindowsOptions;
  readonly #known = new Map<string, number>();
  readonly #opening = new Map<string, Promise<number>>();
  readonly #counts = new Map<string, WindowCount>();

  constructor(options: StrictWindowsOptions) {
    this.#options = options;
  }

  async account(window: StrictWindow): Promise<number> {
    const name = nameOf(window);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    let opening = this.#opening.get(name);
    if (opening === undefined) {
      opening = this.#open(window, name).finally(() => this.#opening.delete(name));
      this.#opening.set(name, opening);
    }
    return opening;
  }

  forget(window: StrictWindow): void {
    this.#known.delete(nameOf(window));
  }

  async #open({ namespaceId, identifier, durationMs }: StrictWindow, name: string): Promise<number> {
    const window = { owner: namespaceId, name: identifier, durationMs };
    const count = this.#countOf(namespaceId);
    if (count.mustBeCounted()) await count.count();
    let account = await this.#openIfSpace(count, window);
    for (let tries = 0; account === null && tries < MAX_TRIES && (await count.closeEnded()); tries++) {
      account = await this.#openIfSpace(count, window);
    }
    if (account === null) throw tooManyCounters(this.#options.maxPerNamespace);
    if (this.#known.size >= MAX_KNOWN) dropFirst(this.#known);
    this.#known.set(name, account);
    return account;
  }

  /** Without space, `max` is 0: an existing counter is found, and none is opened. */
  #openIfSpace(count: WindowCount, window: WindowName): Promise<number | null> {
    const { ledger } = this.#options;
    return count.hasSpace() ? count.opening(() => ledger.openWindow(window, null)) : ledger.openWindow(window, 0);
  }

  #countOf(namespaceId: string): WindowCount {
    const known = this.#counts.get(namespaceId);
    if (known !== undefined) return known;
    if (this.#counts.size >= MAX_COUNTED) dropFirst(this.#counts);
    const count = new WindowCount(namespaceId, this.#options);
    this.#counts.set(namespaceId, count);
    return count;
  }
}

/** How many counters a namespace has: what the database counted, plus those opened here since, minus those closed here. */
class WindowCount {
  readonly #namespaceId: string;
  readonly #options: StrictWindowsOptions;
  #counted = 0;
  #countedAtMs: number | null = null;
  /** Opened since the last count began. */
  #opened = 0;
  #underWay = 0;
  #counting: Promise<void> | null = null;
  #timesCounted = 0;
  /** Closed since the last count. Other nodes may close and open too. A node that opens no more than it closed adds nothing. */
  #closed = 0;
  #closing: Promise<void> | null = null;
  #nextCloseAtMs = 0;
  /** Where the next closing step begins; null = at the first counter. */
  #closedTo: WindowCursor | null = null;

  constructor(namespaceId: string, options: StrictWindowsOptions) {
    this.#namespaceId = namespaceId;
    this.#options = options;
  }

  hasSpace(): boolean {
    return this.#counted + this.#opened + this.#underWay - this.#closed < this.#options.maxPerNamespace;
  }

  mustBeCounted(): boolean {
    if (this.#countedAtMs === null) return true;
    const ageMs = this.#options.ledger.nowMs() - this.#countedAtMs;
    const wasLeft = this.#options.maxPerNamespace - this.#counted;
    // A process alone knows what is left without counting. Under a flood, ended counters keep the namespace nearly full.
    const wasFull = wasLeft <= (this.#options.isShared ? 0 : this.#options.maxPerNamespace * RECOUNT_SHARE);
    // A clock that is set back makes the count old, too.
    if (ageMs >= 0 && ageMs < (wasFull ? COUNT_FULL_EVERY_MS : COUNT_EVERY_MS)) return false;
    return !this.hasSpace() || (this.#options.isShared && this.#opened > wasLeft * RECOUNT_SHARE);
  }

  /** Counts once for all callers that wait. */
  async count(): Promise<void> {
    this.#counting ??= this.#countNow().finally(() => (this.#counting = null));
    await this.#counting;
  }

  /** Removes ended counters, once for all callers that wait. True when there is space now. */
  async closeEnded(): Promise<boolean> {
    if (this.hasSpace()) return true;
    const waitMs = this.#nextCloseAtMs - this.#options.ledger.nowMs();
    // A clock that is set back does not prolong the wait.
    if (this.#closing === null && waitMs > 0 && waitMs <= CLOSE_EVERY_MS) return false;
    this.#closing ??= this.#closeEndedNow().finally(() => (this.#closing = null));
    await this.#closing;
    return this.hasSpace();
  }

  /** Runs `open` and adds one to the count. An existing counter is added too, until the next count, so the sum is never too low. */
  async opening(open: () => Promise<number | null>): Promise<number | null> {
    this.#underWay++;
    try {
      return await open();
    } finally {
      this.#underWay--;
      this.#opened++;
    }
  }

  /** Counters that are opened while the database counts may be in its count or not. They are added. */
  async #countNow(): Promise<void> {
    const openedBefore = this.#opened;
    const startedAtMs = this.#options.ledger.nowMs();
    this.#counted = await this.#options.ledger.countWindows(this.#namespaceId, this.#options.maxPerNamespace);
    this.#opened -= openedBefore;
    this.#closed = 0;
    this.#timesCounted++;
    this.#countedAtMs = startedAtMs;
  }

  /**
   * Makes one step, and another one from the beginning when the first reached the end without closing any. While at least half of the
   * checked counters have ended, each opened counter costs two checks at most. Otherwise the next step waits for CLOSE_EVERY_MS.
   */
  async #closeEndedNow(): Promise<void> {
    const from = this.#closedTo;
    let step = await this.#closeStep();
    if (step.closed === 0 && from !== null && this.#closedTo === null) step = await this.#closeStep();
    if (step.closed * 2 < step.looked) this.#nextCloseAtMs = this.#options.ledger.nowMs() + CLOSE_EVERY_MS;
  }

  async #closeStep(): Promise<ClosedWindows> {
    const counts = this.#timesCounted;
    const step = await this.#options.ledger.closeEndedWindows(this.#namespaceId, CLOSE_STEP, this.#closedTo);
    this.#closedTo = step.last;
    // A count that ended meanwhile may include this step. And more may be closed than were counted, if the bound was lowered.
    if (counts === this.#timesCounted)
      this.#closed = Math.min(this.#closed + step.closed, this.#counted + this.#opened);
    return step;
  }
}

function nameOf({ namespaceId, identifier, durationMs }: StrictWindow): string {
  return `${namespaceId}:${durationMs}:${identifier}`;
}

function tooManyCounters(max: number): AppError {
  const bound = `${max} (KEYSTILE_MAX_LIMITS_PER_NAMESPACE)`;
  return new AppError(
    'UNAVAILABLE',
    `This namespace has reached its limit of strict counters, ${bound}. Try again later.`,
  );
}
