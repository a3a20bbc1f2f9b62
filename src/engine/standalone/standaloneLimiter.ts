import { AppError } from '../../core/errors.ts';
import type { Fence } from '../../core/fence.ts';
import type { Leg, SpendOutcome } from '../../core/spend.ts';
import { windowEnd } from '../../core/window.ts';
import type { Ledger } from '../../storage/port/storage.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import type { LocalLeg } from '../local/localWindow.ts';
import type { StrictWindows } from './strictWindows.ts';

/** The name under which an identifier's local windows are counted. */
const LOCAL_NAME = 'limit';
/** Counters that were removed under the request are opened again this often, then the request gives up. */
const MAX_REOPENS = 2;
/** An owner that was forgotten before it could be used is loaded again this often. */
const MAX_LOADS = 3;

/** One limit to be taken, with the numbers that count for it. */
export interface StandaloneLimit {
  readonly namespaceId: string;
  readonly identifier: string;
  /** 0 blocks, whatever the cost. */
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  readonly cost: number;
  /** The overrides that decided these numbers. */
  readonly fences: readonly Fence[];
}

export interface LimitResult {
  /** It fits. What fits is taken only when all fit. */
  readonly success: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtMs: number;
}

export interface LimiterContext {
  readonly localLimits: LocalLimits;
  readonly ledger: Ledger;
  readonly windows: StrictWindows;
  /** Why nothing may be answered any more; null while it may. */
  readonly stoppedBecause: () => string | null;
}

/** Why nothing was decided and nothing taken: a strict counter was removed, or an override has changed. */
type Undecided = 'removed' | 'overridden';

/** A limit while it is being decided: `left` before anything of the call is taken, and `leftAfter` it was. */
interface Decision {
  readonly asked: StandaloneLimit;
  /** Where it is counted; neither: it is blocked. */
  readonly local: LocalLeg | null;
  readonly account: number | null;
  fits: boolean;
  left: number;
  leftAfter: number;
  resetAtMs: number;
}

/**
 * Decides standalone limits, all or nothing. Local ones are checked in memory and held while one spend of the ledger decides
 * the strict ones; a refusal takes nothing anywhere. In the order of the call each limit sees what those before it take.
 */
export class StandaloneLimiter {
  readonly #context: LimiterContext;

  constructor(context: LimiterContext) {
    this.#context = context;
  }

  /** Null when an override has changed since the limits were worked out: nothing was taken. */
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
    throw new AppError('UNAVAILABLE', 'The counters of these limits are removed all the time; nothing was taken.');
  }

  /** The accounts of strict limits; null for the others. */
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
        // In one turn with what holds the local ones: a window that rolls in between would keep a hold for ever.
        const decisions = limits.map((asked, i) => this.#toDecision(asked, accounts[i] ?? null));
        return (await this.#take(decisions)) ?? decisions;
      }
      await Promise.all(missing.map((owner) => localLimits.load(owner, ledger.nowMs())));
    }
    throw new AppError('UNAVAILABLE', 'This node counts as many local limits as it may.');
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

  /** Null when the decisions are decided. */
  async #take(decisions: readonly Decision[]): Promise<Undecided | null> {
    const held = this.#holdLocal(decisions);
    const isOpen = decisions.every(({ fits }) => fits);
    const strict = decisions.filter(({ account }) => account !== null);
    // What is refused already is not held while the ledger tells what is left of the others.
    if (!isOpen || strict.length === 0) this.#settle(held, isOpen);
    if (strict.length === 0) return null;
    let outcome: SpendOutcome | null = null;
    try {
      // Limits that are counted locally decide with the others whether anything is taken.
      const fences = decisions.flatMap(({ asked }) => asked.fences);
      const legs = strict.map((decision) => toLeg(decision, isOpen));
      outcome = await this.#context.ledger.spend({ legs, fences, idempotency: null });
    } finally {
      if (isOpen) this.#settle(held, outcome?.status === 'taken');
    }
    return learn(strict, outcome, isOpen);
  }

  #holdLocal(decisions: readonly Decision[]): readonly LocalLeg[] {
    const { localLimits } = this.#context;
    for (const decision of decisions) if (decision.local !== null) decision.left = localLimits.left(decision.local);
    const held: LocalLeg[] = [];
    for (const decision of decisions) {
      if (decision.local === null) continue;
      decision.fits = localLimits.allows(decision.local);
      if (!decision.fits) continue;
      localLimits.hold(decision.local);
      held.push(decision.local);
      decision.leftAfter = localLimits.left(decision.local);
    }
    return held;
  }

  #settle(held: readonly LocalLeg[], isTaken: boolean): void {
    for (const leg of held) this.#context.localLimits.settle(leg, isTaken);
  }
}

/** Takes over what the ledger answered. Of a refusal it names the first leg that did not fit: the others are worked out. */
function learn(strict: readonly Decision[], outcome: SpendOutcome, isOpen: boolean): Undecided | null {
  if (outcome.status === 'stale') return outcome.fence === null ? 'removed' : 'overridden';
  if (outcome.status !== 'taken' && outcome.status !== 'refused') {
    const reason = outcome.status === 'failed' ? outcome.reason : outcome.status;
    throw new AppError('INTERNAL_SERVER_ERROR', `The counters of these limits cannot be changed: ${reason}.`);
  }
  const refusedBy = outcome.status === 'refused' ? outcome.by : -1;
  const taken = new Map<number, number>();
  for (const [i, decision] of strict.entries()) {
    const { left = 0, resetAtMs = 0 } = outcome.legs[i] ?? {};
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

/** Of what is refused already the ledger is only asked what is left. */
function toLeg({ asked, account }: Decision, isOpen: boolean): Leg {
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

/** The identifiers of a namespace are one group of owners. */
function ownerOf({ namespaceId, identifier }: StandaloneLimit): string {
  return `${namespaceId}:${identifier}`;
}
