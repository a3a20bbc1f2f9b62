import type { Schedule } from './calendar.ts';

/** What records are made of, and those that src/model does not declare. Times are unix milliseconds. A field that is not set is null. */

export interface RefillRule extends Schedule {
  readonly amount: number;
  readonly mode: 'restore' | 'add';
  /** Ceiling of `add`; null = 2^53-1. */
  readonly max: number | null;
  /** When the rule was set. Boundaries before that instant refilled nothing. */
  readonly sinceMs: number;
}

/** A refill rule of a plan, and since when it is in force; null = no refill. */
export interface RefillVersion {
  readonly fromMs: number;
  readonly rule: RefillRule | null;
}

/** One rule for all time, or the rules that a plan has had, the oldest first. */
export type RefillRules = RefillRule | readonly RefillVersion[];

/** What events warn of. A field that is absent is taken from the identity or the plan. */
export interface Alerts {
  /** How long before a key expires `key.expiring` is sent. */
  readonly expiresWithinMs?: number;
  /** `credits.low` is sent when the balance is below this number. */
  readonly creditsBelow?: number;
}

/** The credits of a key or an identity. The ledger holds the balance, under this account. */
export interface CreditsRecord {
  readonly account: number;
  readonly refill: RefillRule | null;
  /** The counter came with a plan. It ends with a move to a plan without credits. */
  readonly ofPlan?: true;
  /** It counts what is spent, without a balance. */
  readonly metered?: true;
}

/** Credits with the rules that refill them: those of their owner, or those of the owner's plan. */
export interface HeldCredits {
  readonly account: number;
  readonly refill: RefillRules | null;
  readonly metered?: true;
}

/** A call that granted or adjusted credits, or assigned a plan. It is kept, so that a repeated payment counts once. */
export interface CreditCall {
  /** `grant_...`, `adj_...` or `assign_...` */
  readonly id: string;
  /** The key or identity. */
  readonly owner: string;
  readonly kind: 'grant' | 'adjust' | 'assign';
  /** Negative for an adjustment that lowers the balance; 0 for an assignment. */
  readonly amount: number;
  readonly expiresAtMs: number | null;
  /** Of an assignment: what was asked for. */
  readonly reason: string;
  readonly idempotencyId: string | null;
  readonly atMs: number;
}

export interface LimitRecord {
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  /** The strict window's account in the ledger; null when the limit is local. */
  readonly account: number | null;
  /** Of an identity's limit. false: it applies to the verifications that name it. Absent: to every verification of its keys. */
  readonly autoApply?: false;
  /** The first refusal in each window sends `limit.reached`. */
  readonly notify?: true;
}

/** How a holder of a plan, which is an identity or a key without one, refers to it. Nothing of the plan is copied. */
export interface OnPlan {
  /** The plan that it is on; null = none. */
  readonly planId: string | null;
  /** The plan that it moves to at an instant; null = none. */
  readonly planMove: PlanMove | null;
}

/** The limit that a new key of an api gets when its creation names none. */
export interface DefaultLimit {
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
}

/** What a plan gives its holders besides limits and rights. */
export interface PlanTerms {
  readonly refills: readonly RefillVersion[];
  readonly maxKeys: number | null;
  readonly alerts: Alerts | null;
}

/** A limit of a plan has no account: each holder counts in a window of its own, which is found by its name. */
export type PlanLimit = Omit<LimitRecord, 'account'>;

/**
 * What becomes of the balance of a holder that moves to another plan. `upgrade` replaces the credits of the old plan by those of the new
 * one, and keeps granted credits; `reset` replaces all credits.
 */
export const PLAN_BALANCES = ['keep', 'upgrade', 'reset'] as const;
export type PlanBalance = (typeof PLAN_BALANCES)[number];

export interface PlanMove {
  /** null: it leaves its plan. */
  readonly planId: string | null;
  readonly atMs: number;
  readonly balance: PlanBalance;
}

/** A browser that is signed in with a root key. */
export interface SessionRecord {
  /** `ses_...` */
  readonly id: string;
  /** Of the secret in the browser's cookie. */
  readonly digest: string;
  readonly rootKeyId: string;
  readonly createdAtMs: number;
  /** Saved now and then, not with every request. */
  readonly usedAtMs: number;
  /** When it ends if it is not used again. */
  readonly untilMs: number;
  /** The address that signed in. */
  readonly origin: string | null;
  /** How the browser names itself. */
  readonly browser: string | null;
}

/** A target that events are sent to. */
export interface WebhookRecord {
  readonly id: string;
  readonly url: string;
  /** The types of events that it gets; null = all. */
  readonly types: readonly string[] | null;
  /** It gets events of these apis alone, and none that belong to no api; null = all events. */
  readonly apiIds: readonly string[] | null;
  readonly enabled: boolean;
  /** When the service paused it, because its target failed for too long; null = it is not paused. */
  readonly pausedAtMs: number | null;
  readonly pausedBecause: string | null;
  /** The signing secret, encrypted. */
  readonly secret: string;
  /** The secret before the last rotation, which also signs until `formerUntilMs`. */
  readonly formerSecret: string | null;
  readonly formerUntilMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number | null;
  readonly revision: number;
}

/** The name of the limit that a key's `ratelimit` sets. */
export const DEFAULT_LIMIT_NAME = 'default';
