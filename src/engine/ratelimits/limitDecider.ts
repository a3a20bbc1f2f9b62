import { windowEnd } from '../../core/calendar.ts';
import { AppError } from '../../core/errors.ts';
import type { Fence } from '../../core/fence.ts';
import type { Charge, SpendOutcome } from '../../core/spend.ts';
import type { LocalLimits } from '../local/localLimits.ts';
import { type LocalCharge, tooManyLocalCounters } from '../local/localWindow.ts';
import type { StrictWindows } from './strictWindows.ts';
import type { Ledger } from '../../storage/port/storage.ts';

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
    if (!isOpen || strict.length === 0) this.#endHolds(held, isOpen);
    if (strict.length === 0) return null;
    let outcome: SpendOutcome | null = null;
    try {
      // Fences of local limits count too: every limit of the call decides whether anything is taken.
      const fences = decisions.flatMap(({ asked }) => asked.fences);
      const charges = strict.map((decision) => toCharge(decision, isOpen));
      outcome = await this.#context.ledger.spend({ charges, fences, idempotency: null });
    } finally {
      if (isOpen) this.#endHolds(held, outcome?.status === 'taken');
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
      localLimits.hold(decision.local);
      held.push(decision.local);
      decision.leftAfter = localLimits.left(decision.local);
    }
    return held;
  }

  #endHolds(held: readonly LocalCharge[], isTaken: boolean): void {
    for (const charge of held) this.#context.localLimits.endHold(charge, isTaken);
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
