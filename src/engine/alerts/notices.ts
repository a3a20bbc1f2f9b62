import { MAX_NOTICES } from '../../core/bounds.ts';
import type { KeyEntry, EntryCredits, PlanEntry } from '../cache/entries.ts';
import { dropFirst } from '../../basics/dropFirst.ts';
import { ownerOf } from '../verify/effectiveLimits.ts';
import type { LimitReport } from '../verify/pipeline.ts';
import type { Verdict } from '../verify/verdict.ts';

/** Credits that may have to be told of, as verdicts show them. */
export interface CreditNotice {
  /** The key or identity. */
  readonly owner: string;
  readonly account: number;
  /** The threshold; 1 = there is none. */
  readonly tellsBelow: number;
  /** The smallest balance that was seen. */
  left: number;
  /** A verification was refused while this was left; null = none was. */
  refusedAt: number | null;
}

/** A limit that has refused a verification. */
export interface LimitNotice {
  readonly owner: string;
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  readonly resetAtMs: number;
  /** The records that the event names. */
  readonly ids: Readonly<Record<string, string>>;
}

/**
 * What verdicts show that events may have to tell of. A verification only leaves a note here; a background task decides what to tell. Both
 * sets are bounded. A notice that does not fit, or that a crash loses, comes again with the next verdict. The recheck finds balances that
 * nobody uses.
 */
export class Notices {
  readonly #max: number;
  readonly #credits = new Map<string, CreditNotice>();
  readonly #limits = new Map<string, LimitNotice>();
  /** Ends of windows that were told of: a limit refuses many verifications in one window. */
  readonly #told = new Map<string, number>();

  constructor(max = MAX_NOTICES) {
    this.#max = max;
  }

  /** Every verdict comes here. Most leave after two comparisons. */
  observe(verdict: Verdict): void {
    if (verdict.remaining !== null) this.#observeCredits(verdict, verdict.remaining);
    if (verdict.code === 'RATE_LIMITED') this.#observeLimits(verdict);
  }

  /** The balance of a verdict is the smaller one if both have credits. The task finds out whose it is. */
  #observeCredits({ key, code }: Verdict, remaining: number): void {
    if (key === null) return;
    const isRefused = code === 'USAGE_EXCEEDED';
    const { credits, sharedCredits, identity } = key;
    if (credits !== null && (isRefused || remaining < credits.tellsBelow)) {
      this.#note(key.id, credits, remaining, isRefused);
    }
    if (identity === null || sharedCredits === null) return;
    if (isRefused || remaining < sharedCredits.tellsBelow) {
      this.#note(identity.id, sharedCredits, remaining, isRefused);
    }
  }

  #note(owner: string, { account, tellsBelow }: EntryCredits, left: number, isRefused: boolean): void {
    const known = this.#credits.get(owner);
    if (known === undefined) {
      this.#add({ owner, account, tellsBelow, left, refusedAt: isRefused ? left : null });
      return;
    }
    known.left = Math.min(known.left, left);
    if (isRefused) known.refusedAt = left;
  }

  #add(notice: CreditNotice): void {
    if (this.#credits.size < this.#max) this.#credits.set(notice.owner, notice);
  }

  get creditsSize(): number {
    return this.#credits.size;
  }

  get limitsSize(): number {
    return this.#limits.size;
  }

  #observeLimits({ key, limits }: Verdict): void {
    if (key === null || limits === null) return;
    for (const report of limits) if (report.exceeded && report.limit.notify) this.#noteLimit(key, report);
  }

  #noteLimit(key: KeyEntry, { limit: applied, resetAtMs }: LimitReport): void {
    const { name, limit, durationMs, async } = applied;
    const owner = ownerOf(key, applied);
    const id = idOf({ owner, name, durationMs });
    if ((this.#told.get(id) ?? 0) >= resetAtMs || this.#limits.has(id) || this.#limits.size >= this.#max) return;
    this.#limits.set(id, { owner, name, limit, durationMs, async, resetAtMs, ids: idsOf(key, applied.ofIdentity) });
  }

  /** Takes the oldest notices out. */
  takeCredits(count: number): CreditNotice[] {
    return take(this.#credits, count);
  }

  takeLimits(count: number): LimitNotice[] {
    return take(this.#limits, count);
  }

  /** Notices that were taken, and could not be dealt with. */
  putBackCredits(notices: readonly CreditNotice[]): void {
    for (const notice of notices) if (!this.#credits.has(notice.owner)) this.#add(notice);
  }

  putBackLimits(notices: readonly LimitNotice[]): void {
    for (const notice of notices) if (this.#limits.size < this.#max) this.#limits.set(idOf(notice), notice);
  }

  /** This node or another one has told of it. */
  toldLimit(notice: LimitNotice): void {
    if (this.#told.size >= this.#max) dropFirst(this.#told);
    this.#told.set(idOf(notice), notice.resetAtMs);
  }
}

function idOf({ owner, name, durationMs }: Pick<LimitNotice, 'owner' | 'name' | 'durationMs'>): string {
  return `${owner} ${durationMs} ${name}`;
}

/** What a limit counts for: the key or its identity, each with its plan. */
function idsOf({ id, apiId, identity, plan }: KeyEntry, ofIdentity: boolean): Record<string, string> {
  if (identity === null) return { keyId: id, apiId, ...planIdOf(plan) };
  const { externalId } = identity;
  return ofIdentity
    ? { identityId: identity.id, externalId, ...planIdOf(identity.plan) }
    : { keyId: id, apiId, externalId };
}

function planIdOf(plan: PlanEntry | null): Record<string, string> {
  return plan === null ? {} : { planId: plan.id };
}

function take<T>(from: Map<string, T>, count: number): T[] {
  const taken: T[] = [];
  for (const [id, notice] of from) {
    if (taken.length >= count) break;
    taken.push(notice);
    from.delete(id);
  }
  return taken;
}
