import type { Charge } from '../../../../core/spend.ts';
import type { Lock } from '../locks.ts';

/** A plain batch is decided by one statement. A general batch is decided spend by spend. */
export type Form = 'plain' | 'general';

/** What `dispatch` needs to know of an item of the queue. */
export interface Waiting {
  readonly kind: 'spend' | 'change';
  readonly locks: readonly Lock[];
  /** The only charge of a plain spend; null for all others. */
  readonly plainCharge: Charge | null;
  readonly fences: number;
  readonly queuedAtMs: number;
}

/**
 * What a committer is for:
 *   plain      one of the pair that shares a connection: it sends plain batches, one behind the other
 *   general    sends general batches
 *   contended  sends batches of contended accounts, of either form, and waits for their rows
 */
export interface CommitterState {
  readonly role: 'plain' | 'general' | 'contended';
  readonly isIdle: boolean;
}

/** What `dispatch` decides from. */
export interface DispatchInput<Item, Committer> {
  /** The queue, in order. */
  readonly items: readonly Item[];
  readonly committers: readonly Committer[];
  /** Locks of the batches and changes in flight. */
  readonly locked: { has(lock: Lock): boolean; readonly size: number };
  readonly contended: { has(lock: Lock): boolean; readonly size: number };
  /** The most that waited at one time lately. */
  readonly crowd: number;
  readonly nowMs: number;
}
