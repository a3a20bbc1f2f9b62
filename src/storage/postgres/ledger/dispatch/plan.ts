import type { Waits } from '../batch.ts';
import type { Form } from './dispatchInput.ts';

export interface PlannedBatch<Item, Committer> {
  readonly committer: Committer;
  readonly form: Form;
  readonly items: readonly Item[];
  readonly waits: Waits;
}

/** What `dispatch` decides. */
export interface DispatchPlan<Item, Committer> {
  readonly batches: readonly PlannedBatch<Item, Committer>[];
  /** Changes that start now. */
  readonly changes: readonly Item[];
  /** What stays in the queue, in order. */
  readonly rest: readonly Item[];
  /** An idle committer may take from the rest once that has waited for LEND_AFTER_MS. */
  readonly looksAgain: boolean;
}
