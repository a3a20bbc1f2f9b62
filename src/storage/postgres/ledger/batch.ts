import type { Client } from 'pg';

import type { SpendOutcome } from '../../../core/spend.ts';

/**
 * What becomes of a spend in a batch:
 *   busy   another transaction holds a row of it: nothing was done
 *   apart  it cannot be decided in this way: nothing was done, and it has to be asked in the other
 *   again  a fence of another spend in the batch is broken: nothing was done, and it has to be asked once more
 */
export type BatchOutcome = SpendOutcome | 'busy' | 'apart' | 'again';

/**
 * What is done about rows that others hold:
 *   never     they are left alone
 *   first     all rows are locked before anything else: however long that takes, the time is read after it
 */
export type Waits = 'never' | 'first';

/** What a batch is sent with. */
export interface BatchHead {
  readonly lane: number;
  /** Of the batch, in its lane. */
  readonly number: number;
  readonly waits: Waits;
  /** The time that the database shall take for the present; null: that of its clock. */
  readonly saidMs: number | null;
}

/** Spends that are decided by one call of a function of the database. */
export interface Batch {
  readonly size: number;
  /** What the function answers. Lists are written by hand: `pg` does that at a fraction of the speed. */
  ask(client: Client, head: BatchHead): Promise<string>;
  /** An outcome for each spend, in their order. */
  read(text: string): BatchOutcome[];
}
