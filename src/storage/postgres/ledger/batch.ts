import type { Client } from 'pg';
import type { SpendOutcome } from '../../../core/spend.ts';

/**
 * The possible outcomes of a spend in a batch:
 *   an outcome      it was decided
 *   busy            another transaction holds a row of it: nothing was done
 *   needs general   the plain function cannot decide it: nothing was done, and a general batch has to
 *   resend          a fence of another spend in the batch is broken: nothing was done, and it has to be sent once more
 */
export type BatchOutcome = SpendOutcome | 'busy' | 'needs general' | 'resend';

/**
 * What a batch does about rows that other transactions hold:
 *   never   it leaves them alone, and their spends come back as busy
 *   first   it locks all rows before anything else, however long that takes, and reads the clock after that
 */
export type Waits = 'never' | 'first';

/** What a batch is sent with. */
export interface BatchEnvelope {
  /** The row of its committer. */
  readonly committer: number;
  /** The number of the batch among those of its committer. */
  readonly number: number;
  readonly waits: Waits;
  /** Time to use instead of the database clock (tests); null in production. */
  readonly givenMs: number | null;
}

/** Spends that one call of a function in the database decides. */
export interface Batch {
  readonly size: number;
  /**
   * Resolves with the text that the function returns. We write the lists ourselves, because the driver does it at a fraction of the speed.
   */
  ask(client: Client, envelope: BatchEnvelope): Promise<string>;
  /** An outcome for each spend, in their order. */
  read(text: string): BatchOutcome[];
}
