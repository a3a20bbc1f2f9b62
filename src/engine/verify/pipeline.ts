import { inBlock } from '../../core/address.ts';
import { NO_PERMISSIONS, satisfies } from '../../core/permissions.ts';
import type { HeldCredits } from '../../core/records.ts';
import type { Charge, ChargeResult, DecidedSpend } from '../../core/spend.ts';
import type { VerdictCode } from '../../core/verdictCodes.ts';
import type { AppliedLimit, KeyEntry } from '../cache/entries.ts';
import type { LocalLimits, LocalCharge } from '../localLimits.ts';
import {
  type ChargeContext,
  type CreditCounter,
  type LedgerCounters,
  OWN_CREDITS,
  SHARED_CREDITS,
  STRICT_LIMITS,
} from './charges.ts';
import type { Counting } from './effectiveLimits.ts';
import type { VerifyRequest } from './request.ts';

/** A check that reads the key's record. Only the first row, which refuses it, is asked about no key (null). */
export interface RecordCheck {
  readonly code: VerdictCode;
  readonly name: 'key' | 'right to see it' | 'secret in use' | 'api' | 'enabled' | 'expiry' | 'address' | 'permissions';
  refuses(key: KeyEntry | null, request: VerifyRequest, nowMs: number): boolean;
}

/** A check that counts in the memory of this node. */
interface MemoryCheck {
  readonly code: VerdictCode;
  readonly name: string;
  allows(charge: LocalCharge, localLimits: LocalLimits): boolean;
}

/** A check that counts in the ledger. */
interface LedgerCheck {
  readonly code: VerdictCode;
  readonly name: string;
  readonly counts: LedgerCounters;
}

const LOCAL_LIMITS: MemoryCheck = { code: 'RATE_LIMITED', name: 'local limits', allows: hasLocalLeft };

/**
 * The whole verification, from an unknown key to credits. The first row that refuses decides the code, and then nothing is counted.
 * The rows of the ledger are charged in one spend, in their order: all of them or none.
 */
export const PIPELINE: readonly (RecordCheck | MemoryCheck | LedgerCheck)[] = [
  { code: 'NOT_FOUND', name: 'key', refuses: isUnknown },
  { code: 'NOT_FOUND', name: 'right to see it', refuses: isHidden },
  { code: 'NOT_FOUND', name: 'secret in use', refuses: isReplaced },
  { code: 'FORBIDDEN', name: 'api', refuses: isOfAnotherApi },
  { code: 'DISABLED', name: 'enabled', refuses: isDisabled },
  { code: 'EXPIRED', name: 'expiry', refuses: isExpired },
  { code: 'FORBIDDEN', name: 'address', refuses: isOutsideAllowlist },
  { code: 'INSUFFICIENT_PERMISSIONS', name: 'permissions', refuses: lacksPermissions },
  LOCAL_LIMITS,
  { code: 'RATE_LIMITED', name: 'strict limits', counts: STRICT_LIMITS },
  { code: 'USAGE_EXCEEDED', name: 'credits of the key', counts: OWN_CREDITS },
  { code: 'USAGE_EXCEEDED', name: 'credits of the identity', counts: SHARED_CREDITS },
];

const RECORD_CHECKS = PIPELINE.filter((row) => 'refuses' in row);
const LEDGER_CHECKS = PIPELINE.filter((row) => 'counts' in row);

/** The code of the first check that refuses by the record alone; null: the key may be counted. `key`: null = none was found. */
export function refusedByRecord(key: KeyEntry | null, request: VerifyRequest, nowMs: number): VerdictCode | null {
  for (const row of RECORD_CHECKS) if (row.refuses(key, request, nowMs)) return row.code;
  return null;
}

/** The first local limit that has not enough left, by its charge, and the code; null: all of them have. */
export function refusedByMemory(
  charges: readonly LocalCharge[],
  localLimits: LocalLimits,
): { readonly code: VerdictCode; readonly by: number } | null {
  const { code } = LOCAL_LIMITS;
  for (let by = 0; by < charges.length; by++)
    if (!LOCAL_LIMITS.allows(charges[by] as LocalCharge, localLimits)) return { code, by };
  return null;
}

/** The charges of the one spend that decides all rows of the ledger. */
export function ledgerCharges(counting: Counting, context: ChargeContext): readonly Charge[] {
  const charges: Charge[] = [];
  for (const { counts } of LEDGER_CHECKS) {
    const number = counts.count(counting);
    for (let i = 0; i < number; i++) charges.push(counts.charge(counting, i, context));
  }
  return charges;
}

/** How many charges that spend has. */
export function ledgerChargeCount(counting: Counting): number {
  let sum = 0;
  for (const { counts } of LEDGER_CHECKS) sum += counts.count(counting);
  return sum;
}

/** The index of the first charge of these counters in that spend. */
function firstChargeOf(counting: Counting, counters: LedgerCounters): number {
  let sum = 0;
  for (const { counts } of LEDGER_CHECKS) {
    if (counts === counters) return sum;
    sum += counts.count(counting);
  }
  throw new Error('the pipeline does not count these counters');
}

/** The check that this charge of that spend belongs to. */
export function checkOfCharge(counting: Counting, index: number): LedgerCheck {
  let sum = 0;
  for (const check of LEDGER_CHECKS) {
    sum += check.counts.count(counting);
    if (index < sum) return check;
  }
  throw new Error(`the spend has no charge ${index}`);
}

/** The credits that this charge of that spend takes; null: it counts against a limit. */
export function creditsOfCharge(counting: Counting, index: number): HeldCredits | null {
  const { counts } = checkOfCharge(counting, index);
  return 'credits' in counts ? (counts as CreditCounter).credits(counting.entry) : null;
}

/** What is left of these credits after the spend; null = there are none, or they are metered and have no balance. */
export function creditsLeft(
  counter: CreditCounter,
  counting: Counting,
  charges: readonly ChargeResult[],
): number | null {
  const credits = counter.credits(counting.entry);
  if (credits === null || credits.metered) return null;
  return charges[firstChargeOf(counting, counter)]?.left ?? null;
}

/** No key has this secret. */
function isUnknown(key: KeyEntry | null): boolean {
  return key === null;
}

/** The caller may not verify keys of this api. */
function isHidden(key: KeyEntry, { mayVerify }: VerifyRequest): boolean {
  return mayVerify !== null && !mayVerify(key.apiId);
}

/** The secret was replaced by a rotation, and its overlap has ended. */
function isReplaced(key: KeyEntry, _request: VerifyRequest, nowMs: number): boolean {
  return key.extras !== null && nowMs >= key.extras.secretUntilMs;
}

function isOfAnotherApi(key: KeyEntry, { apiId }: VerifyRequest): boolean {
  return apiId !== null && apiId !== key.apiId;
}

function isDisabled(key: KeyEntry): boolean {
  return !key.enabled || key.identity?.enabled === false || isWithoutItsPlan(key);
}

/** A plan that is in use is not deleted. A key whose plan is missing all the same is refused: nothing would limit it. */
function isWithoutItsPlan({ plan }: KeyEntry): boolean {
  return plan !== null && plan.record === null;
}

/** Valid strictly before the instant, expired at it and after. */
function isExpired(key: KeyEntry, _request: VerifyRequest, nowMs: number): boolean {
  return nowMs >= key.expiresAtMs;
}

function isOutsideAllowlist(key: KeyEntry, { caller }: VerifyRequest): boolean {
  const blocks = key.extras?.allowedBlocks ?? null;
  if (blocks === null) return false;
  const address = caller.address();
  return address === null || !blocks.some((block) => inBlock(address, block));
}

function lacksPermissions(key: KeyEntry, { permissions }: VerifyRequest): boolean {
  return permissions !== null && !satisfies(key.extras?.permissions?.held ?? NO_PERMISSIONS, permissions);
}

function hasLocalLeft(charge: LocalCharge, localLimits: LocalLimits): boolean {
  return localLimits.allows(charge);
}

/** A limit that was checked, as it is after this verification. */
export interface LimitReport {
  readonly limit: AppliedLimit;
  readonly remaining: number;
  readonly resetAtMs: number;
  readonly exceeded: boolean;
}

/** Reports of the local limits alone, when the ledger is not asked. `refusedBy`: the charge that refused; -1 = none. */
export function localReports(
  localLimits: LocalLimits,
  limits: readonly AppliedLimit[],
  local: readonly LocalCharge[],
  refusedBy: number,
): LimitReport[] {
  const reports: LimitReport[] = [];
  for (const limit of limits) {
    const charge = limit.async ? local[reports.length] : undefined;
    if (charge === undefined) continue;
    const exceeded = reports.length === refusedBy;
    reports.push({ limit, remaining: localLimits.left(charge), resetAtMs: charge.resetAtMs, exceeded });
  }
  return reports;
}

/**
 * Reports of all limits, in their order: local limits as this node counts them, strict limits as the ledger answered. A strict limit that
 * the ledger says nothing of has no report. null: no limit has one.
 */
export function allReports(
  localLimits: LocalLimits,
  counting: Counting,
  outcome: DecidedSpend,
): readonly LimitReport[] | null {
  const { limits, local } = counting;
  if (limits.length === 0) return null;
  const refusedBy = outcome.status === 'refused' ? outcome.by : -1;
  const reports: LimitReport[] = [];
  let nextLocal = 0;
  let nextStrict = firstChargeOf(counting, STRICT_LIMITS);
  for (const limit of limits) {
    if (limit.async) {
      const charge = local[nextLocal++] as LocalCharge;
      reports.push({ limit, remaining: localLimits.left(charge), resetAtMs: charge.resetAtMs, exceeded: false });
    } else {
      const result = outcome.charges[nextStrict];
      const exceeded = nextStrict++ === refusedBy;
      if (result !== undefined) reports.push({ limit, remaining: result.left, resetAtMs: result.resetAtMs, exceeded });
    }
  }
  return reports.length === 0 ? null : reports;
}
