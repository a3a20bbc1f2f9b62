import { windowEnd } from '../../core/calendar.ts';
import { AppError } from '../../core/errors.ts';
import type { Fence } from '../../core/fence.ts';
import type { Charge, SpendOutcome } from '../../core/spend.ts';
import { type LocalLimits, type LocalCharge, tooManyLocalCounters } from '../localLimits.ts';
import type { Ledger, ClosedWindows, WindowCursor, WindowName } from '../../storage/port/storage.ts';
import { dropFirst } from '../../basics/dropFirst.ts';

/** The name of an identifier's local windows. */
const LOCAL_NAME = 'limit';
/** How often a request opens counters again that were removed meanwhile, before it gives up. */
const MAX_REOPENS = 2;
/** How often a request loads local owners again that were forgotten before it used them. */
const MAX_LOADS = 3;

/** One limit to take, with the numbers that apply after overrides. */
export interface StandaloneLimit {
  readonly namespaceId: string;
  readonly identifier: string;
  /** 0 blocks every request, whatever its cost. */
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  readonly cost: number;
  /** Fences of the overrides that decided these numbers. */
  readonly fences: readonly Fence[];
}

export interface LimitResult {
  /** The limit allows the request. It is taken only when all limits of the call allow it. */
  readonly success: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtMs: number;
}

interface DeciderContext {
  readonly localLimits: LocalLimits;
  readonly ledger: Ledger;
  readonly windows: StrictWindows;
  /** Why the service has stopped answering; null while it answers. */
  readonly stoppedBecause: () => string | null;
}

/** Why nothing was decided or taken: a strict counter was removed, or an override has changed. */
type Undecided = 'removed' | 'overridden';

/** A limit that is being decided. `left`: before the call takes anything. `leftAfter`: after it was taken. */
interface Decision {
  readonly asked: StandaloneLimit;
  /** Set for a local limit, `account` for a strict one. With neither, the limit blocks. */
  readonly local: LocalCharge | null;
  readonly account: number | null;
  fits: boolean;
  left: number;
  leftAfter: number;
  resetAtMs: number;
}

/**
 * Decides standalone limits, all or nothing. Local limits are checked in memory and held while one spend of the ledger decides the
 * strict ones. A refusal takes nothing anywhere. Each limit sees what the limits before it in the call take.
 */
export class LimitDecider {
  readonly #context: DeciderContext;

  constructor(context: DeciderContext) {
    this.#context = context;
  }

  /** Null when an override has changed since the limits were read. Then nothing was taken. */
  async decide(limits: readonly StandaloneLimit[]): Promise<readonly LimitResult[] | null> {
    const stopped = this.#context.stoppedBecause();
    if (stopped !== null) throw new AppError('UNAVAILABLE', stopped);
    for (let opened = 0; opened <= MAX_REOPENS; opened++) {
      const accounts = await this.#open(limits);
      const decisions = await this.#decideOn(limits, accounts);
      if (decisions === 'overridden') return null;
      if (decisions !== 'removed') return toResults(decisions);
      for (const asked of limits) if (isStrict(asked)) this.#context.windows.forget(asked);
    }
    throw new AppError(
      'UNAVAILABLE',
      'The counters of these limits keep being removed; nothing was counted. Try again.',
    );
  }

  /** The accounts of strict limits, in the order of the limits; null for the others. */
  #open(limits: readonly StandaloneLimit[]): Promise<readonly (number | null)[]> {
    return Promise.all(limits.map((asked) => this.#account(asked)));
  }

  async #account(asked: StandaloneLimit): Promise<number | null> {
    return isStrict(asked) ? this.#context.windows.account(asked) : null;
  }

  async #decideOn(
    limits: readonly StandaloneLimit[],
    accounts: readonly (number | null)[],
  ): Promise<readonly Decision[] | Undecided> {
    const { localLimits, ledger } = this.#context;
    const owners = new Set(limits.filter(isLocal).map(ownerOf));
    for (let loads = 0; loads <= MAX_LOADS; loads++) {
      const missing = [...owners].filter((owner) => localLimits.owner(owner) === undefined);
      if (missing.length === 0) {
        // In the same turn as the hold: if a window rolled in between, its hold would never end.
        const decisions = limits.map((asked, i) => this.#toDecision(asked, accounts[i] ?? null));
        return (await this.#take(decisions)) ?? decisions;
      }
      await Promise.all(missing.map((owner) => localLimits.load(owner, ledger.nowMs())));
    }
    throw tooManyLocalCounters();
  }

  #toDecision(asked: StandaloneLimit, account: number | null): Decision {
    const { localLimits, ledger } = this.#context;
    const { limit, durationMs, cost } = asked;
    const nowMs = ledger.nowMs();
    const blank = { asked, account, fits: limit > 0, left: 0, leftAfter: 0 };
    const owner = isLocal(asked) ? localLimits.owner(ownerOf(asked)) : undefined;
    if (owner === undefined) return { ...blank, local: null, resetAtMs: windowEnd(nowMs, durationMs) };
    const window = localLimits.window(owner, { name: LOCAL_NAME, durationMs, isAdHoc: true }, nowMs);
    const { resetAtMs } = window;
    return { ...blank, local: { window, limit, cost, resetAtMs }, resetAtMs };
  }

  /** Null when all decisions were made. */
  async #take(decisions: readonly Decision[]): Promise<Undecided | null> {
    const held = this.#holdLocal(decisions);
    const isOpen = decisions.every(({ fits }) => fits);
    const strict = decisions.filter(({ account }) => account !== null);
    // After a refusal nothing is held while the ledger answers what is left of the strict limits.
    if (!isOpen || strict.length === 0) this.#endPending(held, isOpen);
    if (strict.length === 0) return null;
    let outcome: SpendOutcome | null = null;
    try {
      // Fences of local limits count too: every limit of the call decides whether anything is taken.
      const fences = decisions.flatMap(({ asked }) => asked.fences);
      const charges = strict.map((decision) => toCharge(decision, isOpen));
      outcome = await this.#context.ledger.spend({ charges, fences, idempotency: null });
    } finally {
      if (isOpen) this.#endPending(held, outcome?.status === 'taken');
    }
    return learn(strict, outcome, isOpen);
  }

  #holdLocal(decisions: readonly Decision[]): readonly LocalCharge[] {
    const { localLimits } = this.#context;
    for (const decision of decisions) if (decision.local !== null) decision.left = localLimits.left(decision.local);
    const held: LocalCharge[] = [];
    for (const decision of decisions) {
      if (decision.local === null) continue;
      decision.fits = localLimits.allows(decision.local);
      if (!decision.fits) continue;
      localLimits.beginPending(decision.local);
      held.push(decision.local);
      decision.leftAfter = localLimits.left(decision.local);
    }
    return held;
  }

  #endPending(held: readonly LocalCharge[], isTaken: boolean): void {
    for (const charge of held) this.#context.localLimits.endPending(charge, isTaken);
  }
}

/** Copies the ledger's answer into the decisions. A refusal names only the first charge that does not fit; the others are computed. */
function learn(strict: readonly Decision[], outcome: SpendOutcome, isOpen: boolean): Undecided | null {
  if (outcome.status === 'stale') return outcome.fence === null ? 'removed' : 'overridden';
  if (outcome.status !== 'taken' && outcome.status !== 'refused') {
    const reason = outcome.status === 'failed' ? outcome.reason : outcome.status;
    throw new AppError('INTERNAL_SERVER_ERROR', `The counters of these limits cannot be changed: ${reason}.`);
  }
  const refusedBy = outcome.status === 'refused' ? outcome.by : -1;
  const taken = new Map<number, number>();
  for (const [i, decision] of strict.entries()) {
    const { left = 0, resetAtMs = 0 } = outcome.charges[i] ?? {};
    decision.left = left;
    decision.leftAfter = left;
    decision.resetAtMs = resetAtMs;
    if (isOpen && refusedBy < 0) continue;
    const before = taken.get(decision.account ?? 0) ?? 0;
    decision.fits = i !== refusedBy && before + decision.asked.cost <= left;
    if (decision.fits) taken.set(decision.account ?? 0, before + decision.asked.cost);
  }
  return null;
}

/** After a refusal the amount is 0: the ledger only answers what is left. */
function toCharge({ asked, account }: Decision, isOpen: boolean): Charge {
  const { limit, durationMs, cost } = asked;
  return {
    account: account ?? 0,
    amount: isOpen ? cost : 0,
    rule: { kind: 'window', limit, durationMs },
    revision: 0,
  };
}

function toResults(decisions: readonly Decision[]): LimitResult[] {
  const isTaken = decisions.every(({ fits }) => fits);
  return decisions.map(({ asked, fits, left, leftAfter, resetAtMs }) => {
    return { success: fits, limit: asked.limit, remaining: isTaken ? leftAfter : left, resetAtMs };
  });
}

function isStrict({ async, limit }: StandaloneLimit): boolean {
  return !async && limit > 0;
}

function isLocal({ async, limit }: StandaloneLimit): boolean {
  return async && limit > 0;
}

/** All identifiers of a namespace form one group of owners, which the part before the colon names. */
function ownerOf({ namespaceId, identifier }: StandaloneLimit): string {
  return `${namespaceId}:${identifier}`;
}

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
