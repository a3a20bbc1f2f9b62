import { addCredits, type CountedKey, type ValidCount, type VerificationCount } from '../../core/verificationCounts.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';

const COLUMN = Object.fromEntries(VERDICT_CODES.map((code, i) => [code, i])) as Readonly<Record<VerdictCode, number>>;

const VALID = COLUMN.VALID;

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
  credits = 0;
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

  static ofValid(key: CountedKey, { minuteMs, count, credits, lastAtMs }: ValidCount): OpenCount {
    const open = new OpenCount({ minuteMs, ...key, tags: '' });
    open.counts[VALID] = count;
    open.credits = credits;
    open.lastAtMs = lastAtMs;
    return open;
  }

  /** Nothing is added from now on. */
  take(): void {
    this.isTaken = true;
    if (this.holder?.openCount === this) this.holder.openCount = null;
    this.holder = null;
  }

  /** Adds one verification. */
  add(code: VerdictCode, credits: number, nowMs: number): void {
    const column = COLUMN[code];
    this.counts[column] = (this.counts[column] ?? 0) + 1;
    if (credits > 0) this.credits = addCredits(this.credits, credits);
    if (nowMs > this.lastAtMs) this.lastAtMs = nowMs;
  }

  /** Adds the credits of a verification that was counted before, at `usedAtMs`. */
  addCharged(credits: number, usedAtMs: number): void {
    this.credits = addCredits(this.credits, credits);
    this.lastAtMs = Math.max(this.lastAtMs, usedAtMs);
  }

  /** Adds what another count has counted. */
  addAll({ counts, credits, lastAtMs }: VerificationCount): void {
    for (const [column, count] of counts.entries()) this.counts[column] = (this.counts[column] ?? 0) + count;
    this.credits = addCredits(this.credits, credits);
    this.lastAtMs = Math.max(this.lastAtMs, lastAtMs);
  }
}
