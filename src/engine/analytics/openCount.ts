import type { Tally } from '../../core/verificationCounts.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';

const COLUMN = Object.fromEntries(VERDICT_CODES.map((code, i) => [code, i])) as Readonly<Record<VerdictCode, number>>;

const NO_COUNTS: readonly number[] = VERDICT_CODES.map(() => 0);

type TallySubject = Pick<Tally, 'minuteMs' | 'apiId' | 'keyId' | 'identityId' | 'tags'>;

/** A tally that is added to until it is taken to be written down. */
export class OpenTally implements Tally {
  readonly minuteMs: number;
  readonly apiId: string;
  readonly keyId: string;
  readonly identityId: string;
  readonly tags: string;
  readonly counts: number[] = NO_COUNTS.slice();
  lastAtMs = 0;
  isTaken = false;
  /** The key that it is found by, until it is taken. */
  holder: { tally: OpenTally | null } | null = null;

  constructor({ minuteMs, apiId, keyId, identityId, tags }: TallySubject) {
    this.minuteMs = minuteMs;
    this.apiId = apiId;
    this.keyId = keyId;
    this.identityId = identityId;
    this.tags = tags;
  }

  static of(tally: Tally): OpenTally {
    const open = new OpenTally(tally);
    open.addAll(tally);
    return open;
  }

  static ofValid(minuteMs: number, apiId: string, keyId: string, count: number, lastAtMs: number): OpenTally {
    const open = new OpenTally({ minuteMs, apiId, keyId, identityId: '', tags: '' });
    open.add('VALID', count, lastAtMs);
    return open;
  }

  /** From now on nothing is added. */
  take(): void {
    this.isTaken = true;
    if (this.holder?.tally === this) this.holder.tally = null;
    this.holder = null;
  }

  add(code: VerdictCode, count: number, nowMs: number): void {
    const column = COLUMN[code];
    this.counts[column] = (this.counts[column] ?? 0) + count;
    if (nowMs > this.lastAtMs) this.lastAtMs = nowMs;
  }

  /** Counts what another has counted too. */
  addAll({ counts, lastAtMs }: Tally): void {
    for (const [column, count] of counts.entries()) this.counts[column] = (this.counts[column] ?? 0) + count;
    this.lastAtMs = Math.max(this.lastAtMs, lastAtMs);
  }
}
