import type { CountColumns } from '../../core/verificationCounts.ts';
import type { VerdictCode } from '../../core/verdictCodes.ts';

export const SPANS = ['minute', 'hour', 'day'] as const;
export type Span = (typeof SPANS)[number];
export const SPAN_MS: Readonly<Record<Span, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** When the minute, hour or day that contains this time began. */
export function startOfSpan(span: Span, timeMs: number): number {
  return Math.floor(timeMs / SPAN_MS[span]) * SPAN_MS[span];
}

export interface AnalyticsQuery {
  readonly span: Span;
  /** null = all. */
  readonly apiId: string | null;
  readonly keyIds: readonly string[] | null;
  readonly identityIds: readonly string[] | null;
  readonly fromMs: number;
  readonly untilMs: number;
  /** Rows that differ only in other columns are added up. */
  readonly groupBy: readonly ('time' | 'key' | 'identity' | 'tags')[];
  /** Absent: by the columns of `groupBy`. */
  readonly order?: AnalyticsOrder;
  /** The largest number of rows. Absent: all. */
  readonly limit?: number;
}

export interface AnalyticsOrder {
  /** `time` only together with the group `time`. */
  readonly by: 'time' | 'total' | 'credits' | VerdictCode;
  readonly isDescending: boolean;
}

export interface AnalyticsRow {
  readonly timeMs: number | null;
  readonly keyId: string | null;
  readonly identityId: string | null;
  /** The identity's own name. Absent when the identity was deleted. */
  readonly externalId?: string;
  readonly tags: string | null;
  /** By VERDICT_CODES. */
  readonly counts: readonly number[];
  /** At most MAX_COUNT, however many were taken. */
  readonly credits: number;
}

/**
 * Counts of verifications, and the credits that they took, by minute, hour and day (UTC). Adding appends to a log, which is quick however
 * many keys there are. Folding adds the log to the sums.
 */
export interface Analytics {
  /** Adds all counts or none. After StorageOutcomeUnknown the same call with the same `batch` may be repeated. */
  add(counts: CountColumns, batch: number): Promise<void>;
  /** Sums everything that was added, folded or not. */
  sum(query: AnalyticsQuery): Promise<readonly AnalyticsRow[]>;
  /** Adds a bounded part of the log to the sums and the last uses of keys. True at the end of a round, and while another node folds. */
  fold(): Promise<boolean>;
  /** Tag lists (JSON) that an api has in the sums of one day (UTC); at most `limit`. */
  tagLists(apiId: string, dayMs: number, limit: number): Promise<readonly string[]>;
  /** Removes a bounded number of rows of a span that are older than `untilMs`. True when none is left. */
  prune(span: Span, untilMs: number): Promise<boolean>;
  /**
   * Checks a bounded number of last uses in the order of key ids, and removes those of deleted keys. Returns the last id, from which the
   * next call continues; null at the end.
   */
  pruneUses(after: string | null): Promise<string | null>;
}
