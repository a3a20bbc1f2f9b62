import type { CountedKey, VerificationCount } from '../../core/verificationCounts.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';

const COLUMN = Object.fromEntries(VERDICT_CODES.map((code, i) => [code, i])) as Readonly<Record<VerdictCode, number>>;

const NO_COUNTS: readonly number[] = VERDICT_CODES.map(() => 0);

type CountSubject = Pick<VerificationCount, 'minuteMs' | 'apiId' | 'keyId' | 'identityId' | 'tags'>;

/** A count that grows until it is taken to be written. */
export class OpenCount implements VerificationCount {
  readonly minuteMs: number;
  readonly apiId: string;
  readonly keyId: string;
  readonly identityId: string;
  readonly tags: string;
  readonly counts: number[] = NO_COUNTS.slice();
  lastAtMs = 0;
  isTaken = false;
  /** The cached key that refers to this count, until it is taken. */
  holder: { openCount: OpenCount | null } | null = null;

  constructor({ minuteMs, apiId, keyId, identityId, tags }: CountSubject) {
    this.minuteMs = minuteMs;
    this.apiId = apiId;
    this.keyId = keyId;
    this.identityId = identityId;
    this.tags = tags;
  }

  static of(count: VerificationCount): OpenCount {
    const open = new OpenCount(count);
    open.addAll(count);
    return open;
  }

  static ofValid(minuteMs: number, key: CountedKey, count: number, lastAtMs: number): OpenCount {
    const open = new OpenCount({ minuteMs, ...key, tags: '' });
    open.add('VALID', count, lastAtMs);
    return open;
  }

  /** Nothing is added from now on. */
  take(): void {
    this.isTaken = true;
    if (this.holder?.openCount === this) this.holder.openCount = null;
    this.holder = null;
  }

  add(code: VerdictCode, count: number, nowMs: number): void {
    const column = COLUMN[code];
    this.counts[column] = (this.counts[column] ?? 0) + count;
    if (nowMs > this.lastAtMs) this.lastAtMs = nowMs;
  }

  /** Adds what another count has counted. */
  addAll({ counts, lastAtMs }: VerificationCount): void {
    for (const [column, count] of counts.entries()) this.counts[column] = (this.counts[column] ?? 0) + count;
    this.lastAtMs = Math.max(this.lastAtMs, lastAtMs);
  }
}
