import type { Batch } from './batch.ts';
import type { DirectLog } from '../log/directLog.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import type { Commit } from '../log/writer.ts';
import type { SqliteThread } from '../thread/threadClient.ts';

/** A flush that takes longer, in the mean, is not waited for by the thread that answers. */
const QUICK_MS = 0.5;
/** What one flush weighs in the mean. */
const WEIGHT = 0.05;
/** Before anything is known: the first flush is waited for. */
const FIRST_MEAN_MS = 0.25;
/** After a flush that took so long, wherever it was made, the next ones go through the thread: so many for each millisecond. */
const STALL_MS = 10;
const AWAY_FOR_EACH_MS = 100;
const MAX_AWAY = 100_000;
/** Of so many commits one goes through the thread, which then brings the log into the database where it has grown. */
const MAX_IN_A_ROW = 256;

/** What of the writer's thread is used here. */
export type CommitThread = Pick<SqliteThread, 'call' | 'isIdle' | 'breakDown'>;

/**
 * Where a batch is committed. The thread of the writer holds up nobody, but to wake it and to be woken again costs as much as a
 * quick flush, and on a busy machine it waits for a processor: with a flush of 0.1 ms, a third more credits a second were
 * measured without it. So batches that only spend are flushed right here while the disk is quick and the writer has
 * nothing else to do; a disk that is slow, becomes slow or stalls now and then is left to the thread.
 */
export class Committing {
  readonly #writer: CommitThread;
  readonly #direct: Pick<DirectLog, 'append'>;
  #meanMs = FIRST_MEAN_MS;
  #inARow = 0;
  /** Commits for which the thread is used, whatever the mean is. */
  #away = 0;

  constructor(writer: CommitThread, direct: Pick<DirectLog, 'append'>) {
    this.#writer = writer;
    this.#direct = direct;
  }

  /** Fails with a WriteFailure. */
  async commit(batch: Batch, number: number): Promise<void> {
    const commit = batch.toCommit(number);
    if (batch.isPlain && this.#mayCommitHere && this.#commitHere(commit)) return;
    this.#inARow = 0;
    const tookMs = await this.#writer.call('commit', commit);
    // A batch with records to write takes longer than its flush.
    if (batch.isPlain) this.#learn(tookMs);
  }

  get #mayCommitHere(): boolean {
    return this.#away === 0 && this.#meanMs <= QUICK_MS && this.#inARow < MAX_IN_A_ROW && this.#writer.isIdle;
  }

  /** False: another program holds the database, and the thread has the time to wait for it. */
  #commitHere({ number, accounts }: Commit): boolean {
    try {
      this.#learn(this.#direct.append(number, accounts));
    } catch (error) {
      const failure = toWriteFailure(error);
      if (failure.kind === 'busy') return false;
      if (failure.kind === 'broken') this.#writer.breakDown(failure);
      throw failure;
    }
    this.#inARow++;
    return true;
  }

  #learn(milliseconds: number): void {
    this.#meanMs += (milliseconds - this.#meanMs) * WEIGHT;
    if (this.#away > 0) this.#away--;
    if (milliseconds >= STALL_MS) this.#away = Math.min(MAX_AWAY, Math.round(milliseconds * AWAY_FOR_EACH_MS));
  }
}
