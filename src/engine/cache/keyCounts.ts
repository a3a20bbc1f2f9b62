import type { CountColumns } from '../../core/verificationCounts.ts';
import type { OpenCount } from './openCount.ts';
import type { KeyEntry } from './keyEntry.ts';

/** What analytics needs from the cache. Counts are kept next to the keys, where counting is cheapest (packedCounts.ts). */
export interface KeyCounts {
  /** Counts a valid verification of the key, which took so many credits. False: the cache does not count it. */
  count(entry: KeyEntry, credits: number, nowMs: number): boolean;
  /** A count that is put on this entry is found there by the next verification. */
  keeps(entry: KeyEntry): boolean;
  readonly generations: CountGenerations;
  /** Adds at most `limit` sealed counts. False: there are none. */
  takeSealed(into: CountColumns, limit: number): boolean;
  /** Called with the counts of a key when the key is dropped. */
  onDropped: (count: OpenCount, isSealed: boolean) => void;
}

/** Counts are added to the running generation. `swap` seals it; `KeyCounts.takeSealed` takes sealed counts out. */
export interface CountGenerations {
  /** Counts that are sealed and not taken. Keys that were dropped since may be among them. */
  readonly sealedLength: number;
  /** Counts that are not sealed yet. */
  readonly runningLength: number;
  /** An empty generation is available for `swap`. */
  readonly canSwap: boolean;
  /** The next generation runs from this minute on. */
  swap(minuteMs: number): void;
}
