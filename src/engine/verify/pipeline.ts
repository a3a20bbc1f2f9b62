import { inBlock } from '../../core/address.ts';
import { NO_PERMISSIONS, satisfies } from '../../core/permissions.ts';
import type { VerdictCode } from '../../core/verdictCodes.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import type { VerifyRequest } from './request.ts';

/** A check that reads the key's record. */
export interface RecordCheck {
  readonly code: VerdictCode;
  refuses(key: KeyEntry, request: VerifyRequest, nowMs: number): boolean;
}

/** A check that counts. It refuses when its counter has not enough left. */
export interface CountCheck {
  readonly code: VerdictCode;
  readonly counts: 'local limits' | 'strict limits' | 'credits';
}

/**
 * The whole verification of a known key, from the first check to credits. The first row that refuses decides the code, and then nothing is
 * counted. Rows that count are decided together: local limits in memory (localCharges.ts), then strict limits and credits in one spend of
 * the ledger (spendCharges.ts). test/engine/verify/pipeline.test.ts holds that all rows take effect in this order.
 */
export const PIPELINE: readonly (RecordCheck | CountCheck)[] = [
  { code: 'NOT_FOUND', refuses: isHidden },
  { code: 'NOT_FOUND', refuses: isReplaced },
  { code: 'FORBIDDEN', refuses: isOfAnotherApi },
  { code: 'DISABLED', refuses: isDisabled },
  { code: 'EXPIRED', refuses: isExpired },
  { code: 'FORBIDDEN', refuses: isOutsideAllowlist },
  { code: 'INSUFFICIENT_PERMISSIONS', refuses: lacksPermissions },
  { code: 'RATE_LIMITED', counts: 'local limits' },
  { code: 'RATE_LIMITED', counts: 'strict limits' },
  { code: 'USAGE_EXCEEDED', counts: 'credits' },
];

const RECORD_CHECKS = PIPELINE.filter((row) => 'refuses' in row);

/** The code of the first check that refuses by the record alone; null: the key may be counted. */
export function refusedByRecord(key: KeyEntry, request: VerifyRequest, nowMs: number): VerdictCode | null {
  for (const row of RECORD_CHECKS) if (row.refuses(key, request, nowMs)) return row.code;
  return null;
}

/** The code of a refusal by this kind of counter. */
export function codeOfCount(counts: CountCheck['counts']): VerdictCode {
  const row = PIPELINE.find((each) => 'counts' in each && each.counts === counts);
  if (row === undefined) throw new Error(`no row counts ${counts}`);
  return row.code;
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
