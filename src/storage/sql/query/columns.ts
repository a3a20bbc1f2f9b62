import { isTimeZone, REFILL_INTERVALS } from '../../../core/calendar.ts';
import {
  type CreditsRecord,
  type LimitRecord,
  PLAN_BALANCES,
  type PlanLimit,
  type PlanMove,
  type RefillRule,
  type RefillVersion,
} from '../../../core/records.ts';

/** Reads and checks columns that hold JSON or numbers. A column that cannot be read makes its row unreadable. */

const NO_LIMITS: readonly LimitRecord[] = [];
const NO_TEXTS: readonly string[] = [];

class UnreadableRow extends Error {}

function require(holds: boolean, what: string): void {
  if (!holds) throw new UnreadableRow(`${what} cannot be read`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function readCredits(text: string | null): CreditsRecord | null {
  if (text === null) return null;
  const credits = JSON.parse(text) as CreditsRecord;
  require(isCount(credits.account), 'credits');
  if (credits.refill !== null) requireRefill(credits.refill);
  return credits;
}

function requireRefill(refill: RefillRule): void {
  require(isCount(refill.amount) && (refill.max === null || isCount(refill.max)), 'refill');
  require(REFILL_INTERVALS.includes(refill.interval), 'refill interval');
  require(isKnownZone(refill.timezone) && (refill.mode === 'restore' || refill.mode === 'add'), 'refill');
}

/** The rules that a plan has had. */
export function readVersions(text: string): readonly RefillVersion[] {
  const versions = JSON.parse(text) as RefillVersion[];
  require(Array.isArray(versions) && versions.length > 0, 'refills');
  for (const { fromMs, rule } of versions) {
    require(isCount(fromMs), 'refills');
    if (rule !== null) requireRefill(rule);
  }
  return versions;
}

export function readPlanMove(text: string | null): PlanMove | null {
  if (text === null) return null;
  const move = JSON.parse(text) as PlanMove;
  require(isCount(move.atMs) && PLAN_BALANCES.includes(move.balance), 'plan move');
  return move;
}

export function readPlanLimits(text: string | null): readonly PlanLimit[] {
  const limits = text === null ? [] : (JSON.parse(text) as PlanLimit[]);
  require(Array.isArray(limits), 'limits');
  for (const { name, limit, durationMs } of limits)
    require(typeof name === 'string' && isCount(limit) && isCount(durationMs) && durationMs > 0, 'limits');
  return limits;
}

/** Time zones that were checked and exist. Asking the calendar takes longer than reading the rest of a key. */
const knownZones = new Set(['UTC']);

function isKnownZone(zone: unknown): boolean {
  if (typeof zone !== 'string') return false;
  if (!knownZones.has(zone) && isTimeZone(zone)) knownZones.add(zone);
  return knownZones.has(zone);
}

export function readLimits(text: string | null): readonly LimitRecord[] {
  if (text === null) return NO_LIMITS;
  const limits = JSON.parse(text) as LimitRecord[];
  require(Array.isArray(limits), 'limits');
  for (const limit of limits) {
    require(typeof limit.name === 'string' && isCount(limit.limit) && isCount(limit.durationMs), 'limits');
    require(limit.durationMs > 0 && (limit.async ? limit.account === null : isCount(limit.account)), 'limits');
  }
  return limits;
}

export function readTexts(text: string | null, what: string): readonly string[] {
  if (text === null) return NO_TEXTS;
  const list = JSON.parse(text) as unknown;
  require(Array.isArray(list) && list.every((entry) => typeof entry === 'string'), what);
  return list as string[];
}

export function readMeta(text: string | null): string | null {
  if (text !== null) {
    const value = JSON.parse(text) as unknown;
    require(typeof value === 'object' && value !== null && !Array.isArray(value), 'meta');
  }
  return text;
}

export function readInstant(ms: number | null): number | null {
  require(ms === null || isCount(ms), 'expires');
  return ms;
}
