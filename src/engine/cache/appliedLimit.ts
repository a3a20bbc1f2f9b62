import { notReplaced } from '../../core/plan.ts';
import type { LimitRecord } from '../../core/records.ts';

/** A limit that applies to a verification. */
export interface AppliedLimit {
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  readonly cost: number;
  /** The limit counts for the identity of the key, not for the key. */
  readonly ofIdentity: boolean;
  /** Its counter is not that of a configured limit. The number of such counters is bounded. */
  readonly isAdHoc: boolean;
  /** Account of a configured strict limit (`accountOf`); null: local, or an ad-hoc one whose account is asked for by name. */
  readonly account: LimitAccount | null;
  /** An event tells of the first refusal in each window. */
  readonly notify: boolean;
  /** What the wire layer made of it; made once, on the first answer. */
  wire: LimitWire | null;
}

/** The parts of an answer that stay the same while the limit does. */
export interface LimitWire {
  /** The text before the number that is left, in `ratelimit` and in an item of `ratelimits`. */
  readonly ownHead: string;
  readonly itemHead: string;
  /** The end of an item of `ratelimits`. */
  readonly keptEnd: string;
  readonly exceededEnd: string;
  readonly isAscii: boolean;
  /** The value of the header that says what is granted. */
  readonly policy: string;
  /** The value of the header that says what is left, up to the number. */
  readonly rateLimitHead: string;
  /** Both headers as lines, up to that number. */
  readonly linesHead: string;
}

declare const inCache: unique symbol;

/** The account of a configured strict limit. Keys share their limits, so only `accountOf` can tell the number. */
export interface LimitAccount {
  readonly [inCache]: true;
}

/** A limit as configured. It is kept with the key, so that it is not created again for every verification. */
export function asConfigured(configured: LimitRecord): AppliedLimit {
  const { name, limit, durationMs, async, notify = false } = configured;
  const account = configured.account as unknown as LimitAccount | null;
  return { name, limit, durationMs, async, cost: 1, ofIdentity: false, isAdHoc: false, account, notify, wire: null };
}

export function orNone(limits: readonly AppliedLimit[]): readonly AppliedLimit[] | null {
  return limits.length === 0 ? null : limits;
}

export function joined(
  own: readonly AppliedLimit[] | null,
  shared: readonly AppliedLimit[] | null,
): readonly AppliedLimit[] | null {
  return own === null || shared === null ? (own ?? shared) : [...own, ...shared];
}

/** The limits of a holder and those that its plan gives. `own`: all that it has, which replace those of the same name. */
export function withGiven(
  limits: readonly AppliedLimit[] | null,
  given: readonly AppliedLimit[] | null,
  own: readonly AppliedLimit[] | null = limits,
): readonly AppliedLimit[] | null {
  if (given === null || own === null) return joined(limits, given);
  const added = notReplaced(given, own);
  return added.length === 0 ? limits : joined(limits, added);
}
