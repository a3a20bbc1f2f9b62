import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import {
  addCredits,
  type CountColumns,
  type CountedKey,
  type ValidCount,
  type VerificationCount,
} from '../../core/verificationCounts.ts';
import type { KeyEntry } from './keyEntry.ts';

/** What analytics needs from the cache. Counts are kept next to the keys, where counting is cheapest (packedCounts.ts). */
export interface KeyCounts {
  /** Counts a valid verification of the key, which took so many credits. False: the cache does not count it. */
  count(entry: KeyEntry, credits: number, nowMs: number): boolean;
  readonly generations: CountGenerations;
  /** Adds at most `limit` sealed counts. False: there are none. */
  takeSealed(into: CountColumns, limit: number): boolean;
  /** Called with the counts of a key when the key is dropped. */
  onDropped: (count: OpenCount, isSealed: boolean) => void;
}

/** Counts are added to the running generation. `swap` seals it; `KeyCounts.takeSealed` takes sealed counts out. */
interface CountGenerations {
  /** Counts that are sealed and not taken. Keys that were dropped since may be among them. */
  readonly sealedLength: number;
  /** Counts that are not sealed yet. */
  readonly runningLength: number;
  /** An empty generation is available for `swap`. */
  readonly canSwap: boolean;
  /** The next generation runs from this minute on. */
  swap(minuteMs: number): void;
}

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
