import type { CountColumns } from '../../core/verificationCounts.ts';
import type { OpenCount } from '../analytics/openCount.ts';
import type { KeyEntry } from './keyEntry.ts';

/** What analytics asks of the cache, which counts next to the keys: there a count costs least (packedCounts.ts). */
export interface KeyCounts {
  /** The key was valid once more; false: the cache does not count for it. */
  count(entry: KeyEntry, nowMs: number): boolean;
  /** A count that is put on this entry is found there by the next verification. */
  keeps(entry: KeyEntry): boolean;
  readonly generations: CountGenerations;
  /** Adds at most so many sealed counts; false = there is nothing. */
  takeSealed(into: CountColumns, limit: number): boolean;
  /** Hears what a key has counted when the key is dropped. */
  onDropped: (count: OpenCount, isSealed: boolean) => void;
}

/** The running generation is added to. `swap` seals it; `KeyCounts.takeSealed` takes out what is sealed. */
export interface CountGenerations {
  /** Counts that are sealed and not taken. Keys that were dropped since may be among them. */
  readonly sealedLength: number;
  /** There is a generation to run next. */
  readonly canSwap: boolean;
  /** The next generation runs from this minute on. */
  swap(minuteMs: number): void;
}
