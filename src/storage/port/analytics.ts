import type { CountColumns } from '../../core/verificationCounts.ts';
import type { VerdictCode } from '../../core/verdictCodes.ts';

export const SPANS = ['minute', 'hour', 'day'] as const;
export type Span = (typeof SPANS)[number];
export const SPAN_MS: Readonly<Record<Span, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

export interface AnalyticsQuery {
  readonly span: Span;
  /** null = all. */
  readonly apiId: string | null;
  readonly keyIds: readonly string[] | null;
  readonly identityIds: readonly string[] | null;
  readonly fromMs: number;
  readonly untilMs: number;
  /** Rows are summed over what is not named here. */
  readonly groupBy: readonly ('time' | 'key' | 'identity' | 'tags')[];
  /** By their groups when not given. */
  readonly order?: AnalyticsOrder;
  /** Rows at the most; all of them when not given. */
  readonly limit?: number;
}

export interface AnalyticsOrder {
  /** `time` only where they are grouped by it. */
  readonly by: 'time' | 'total' | VerdictCode;
  readonly isDescending: boolean;
}

export interface AnalyticsRow {
  readonly timeMs: number | null;
  readonly keyId: string | null;
  readonly identityId: string | null;
  /** Of the identity, as long as it is there. */
  readonly externalId?: string;
  readonly tags: string | null;
  readonly counts: readonly number[];
}

/**
 * Counts of verifications, written behind the requests and summed by minute, hour and day (UTC). What is added is written down
 * as it comes, which is quick however many keys there are, and brought into the sums behind.
 */
export interface Analytics {
  /** Adds; all of it or nothing. After StorageOutcomeUnknown the same call, with the same `batch`, may be made again. */
  add(counts: CountColumns, batch: number): Promise<void>;
  /** Over all that was added, whether it is folded or not. */
  sum(query: AnalyticsQuery): Promise<readonly AnalyticsRow[]>;
  /**
   * Brings what was added into the sums and the last uses of keys, a bounded number of rows. True at the end of a round
   * through all of it, and where another node is at it.
   */
  fold(): Promise<boolean>;
  /** Tag lists, as JSON, of verifications of an api on one day (UTC) that are in the sums: at most `limit`. */
  tagLists(apiId: string, dayMs: number, limit: number): Promise<readonly string[]>;
  /** Removes rows of a span that are older, at most a bounded number; true when none is left. */
  prune(span: Span, untilMs: number): Promise<boolean>;
  /**
   * Removes the last uses of keys that are gone, among a bounded number of them in the order of their ids. Answers the last
   * id that was looked at, to go on from there; null when there is none behind it.
   */
  pruneUses(after: string | null): Promise<string | null>;
}
