import { alertsOf } from '../core/alerts.ts';
import { isTimeZone, REFILL_INTERVALS } from '../core/calendar.ts';
import {
  type Alerts,
  type CreditsRecord,
  type LimitRecord,
  PLAN_BALANCES,
  type PlanLimit,
  type PlanMove,
  type RefillRule,
  type RefillVersion,
} from '../core/records.ts';
import {
  type Cell,
  column,
  json,
  list,
  optionalNumber,
  optionalText,
  requireReadable,
  type Stored,
} from './columns.ts';

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function requireRefill(refill: RefillRule): void {
  requireReadable(isCount(refill.amount) && (refill.max === null || isCount(refill.max)));
  requireReadable(REFILL_INTERVALS.includes(refill.interval));
  requireReadable(isKnownZone(refill.timezone) && (refill.mode === 'restore' || refill.mode === 'add'));
}

/** Time zones that were checked and exist. Asking the calendar takes longer than reading the rest of a key. */
const knownZones = new Set(['UTC']);

function isKnownZone(zone: unknown): boolean {
  if (typeof zone !== 'string') return false;
  if (!knownZones.has(zone) && isTimeZone(zone)) knownZones.add(zone);
  return knownZones.has(zone);
}

export function readCredits(cell: Cell): CreditsRecord | null {
  if (cell === null) return null;
  const credits = JSON.parse(String(cell)) as CreditsRecord;
  requireReadable(isCount(credits.account));
  if (credits.refill !== null) requireRefill(credits.refill);
  return credits;
}

/** The account has a column of its own, because the ledger finds the holder of the credits by it. */
export const creditsField: Stored<CreditsRecord | null> = {
  columns: [
    column('credits', 'text', { isOptional: true }),
    column('credits_account', 'number', { isOptional: true, isOnlyIndexed: true }),
  ],
  read: readCredits,
  write: (credits) => (credits === null ? [null, null] : [JSON.stringify(credits), credits.account]),
};

export function readPlanMove(cell: Cell): PlanMove | null {
  if (cell === null) return null;
  const move = JSON.parse(String(cell)) as PlanMove;
  requireReadable(isCount(move.atMs) && PLAN_BALANCES.includes(move.balance));
  return move;
}

/** The plan that is moved to has a column of its own, for its index. */
const planMoveField: Stored<PlanMove | null> = {
  columns: [
    column('plan_move', 'text', { isOptional: true }),
    column('next_plan_id', 'text', { isOptional: true, isOnlyIndexed: true }),
  ],
  read: readPlanMove,
  write: (move) => (move === null ? [null, null] : [JSON.stringify(move), move.planId]),
};

/** How a holder of a plan, which is an identity or a key without one, refers to it. Nothing of the plan is copied. */
export const ON_PLAN = {
  /** The plan that it is on; null = none. */
  planId: optionalText('plan_id'),
  /** The plan that it moves to at an instant; null = none. */
  planMove: planMoveField,
};

export const alertsField: Stored<Alerts | null> = {
  columns: [
    column('expires_within_ms', 'number', { isOptional: true }),
    column('credits_below', 'number', { isOptional: true }),
  ],
  read: (expiresWithinMs, creditsBelow) => alertsOf(expiresWithinMs as number | null, creditsBelow as number | null),
  write: (alerts) => [alerts?.expiresWithinMs ?? null, alerts?.creditsBelow ?? null],
};

export const limitsField = list('limits', (cell) => {
  const limits = JSON.parse(cell) as LimitRecord[];
  requireReadable(Array.isArray(limits));
  for (const limit of limits) {
    requireReadable(typeof limit.name === 'string' && isCount(limit.limit) && isCount(limit.durationMs));
    requireReadable(limit.durationMs > 0 && (limit.async ? limit.account === null : isCount(limit.account)));
  }
  return limits;
});

export const planLimitsField = list('limits', (cell) => {
  const limits = JSON.parse(cell) as PlanLimit[];
  requireReadable(Array.isArray(limits));
  for (const { name, limit, durationMs } of limits)
    requireReadable(typeof name === 'string' && isCount(limit) && isCount(durationMs) && durationMs > 0);
  return limits;
});

/** The rules that a plan has had. */
export const refillsField = json('refills', (cell): readonly RefillVersion[] => {
  const versions = JSON.parse(cell) as RefillVersion[];
  requireReadable(Array.isArray(versions) && versions.length > 0);
  for (const { fromMs, rule } of versions) {
    requireReadable(isCount(fromMs));
    if (rule !== null) requireRefill(rule);
  }
  return versions;
});

/** JSON text of an object; null = none. It stays text, because verification never reads it. */
export const metaField: Stored<string | null> = {
  ...optionalText('meta'),
  read(cell) {
    if (cell === null) return null;
    const value = JSON.parse(String(cell)) as unknown;
    requireReadable(typeof value === 'object' && value !== null && !Array.isArray(value));
    return String(cell);
  },
};

/** An instant that decides a verdict. */
export const expiryField: Stored<number | null> = {
  ...optionalNumber('expires_at_ms'),
  read(cell) {
    requireReadable(cell === null || isCount(cell));
    return cell as number | null;
  },
};
