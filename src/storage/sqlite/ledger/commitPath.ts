import type { Batch } from './batch.ts';
import type { DirectLog } from '../writer/directLog.ts';
import { endsWriting, toWriteFailure } from '../file/writeFailure.ts';
import type { Commit, CommitRows } from '../writer/commit.ts';
import type { SqliteThread } from '../thread/threadClient.ts';

/** While the mean time of a flush is at most this, the answering thread flushes itself. */
const QUICK_MS = 0.5;
/** The weight of one flush in the mean. */
const WEIGHT = 0.05;
/** The mean before the first flush: quick enough to try. */
const FIRST_MEAN_MS = 0.25;
/** After a flush that took this long, in either thread, the next commits go through the writer thread: so many per millisecond. */
const STALL_MS = 10;
const AWAY_FOR_EACH_MS = 100;
const MAX_AWAY = 100_000;
/** After so many commits here, one goes through the writer thread, which checkpoints SQLite's log where it has grown. */
const MAX_IN_A_ROW = 256;

/** What is used of the writer thread. */
export type CommitThread = Pick<SqliteThread, 'call' | 'isIdle' | 'breakDown'>;

/**
 * Which thread commits a batch. The writer thread holds up nobody. But waking it, and being woken again, costs as much as a quick
 * flush, and on a busy machine it waits for a processor: with a flush of 0.1 ms, the answering thread alone was measured to do a
 * third more credits a second. So the answering thread commits batches that only spend, while the disk is quick and the writer
 * thread is idle. A disk that is slow, or stalls now and then, is left to the writer thread.
 */
export class CommitPath {
  readonly #writer: CommitThread;
  readonly #direct: Pick<DirectLog, 'append'>;
  #meanMs = FIRST_MEAN_MS;
  #inARow = 0;
  /** Commits that still go through the writer thread after a stall. */
  #away = 0;

  constructor(writer: CommitThread, direct: Pick<DirectLog, 'append'>) {
    this.#writer = writer;
    this.#direct = direct;
  }

  /** Fails with a WriteFailure. */
  async commit(batch: Batch, number: number): Promise<void> {
    const commit = batch.toCommit(number, batch.isPlain ? undefined : await this.#sendRows(batch));
    if (batch.isPlain && this.#mayCommitHere && this.#commitHere(commit)) return;
    this.#inARow = 0;
    const tookMs = await this.#writer.call('commit', commit);
    // A batch with records to write takes longer than its flush.
    if (batch.isPlain) this.#learn(tookMs);
  }

  /** Sends all parts of its rows but the last. Between two of them, others are served: nothing is decided while a commit is under way. */
  async #sendRows({ rowParts }: Batch): Promise<CommitRows | undefined> {
    for (const part of rowParts.slice(0, -1)) {
      // When it fails, so does the commit.
      this.#writer.call('takeRows', JSON.stringify(part)).catch(() => {});
      await new Promise((go) => setImmediate(go));
    }
    return rowParts.at(-1);
  }

  get #mayCommitHere(): boolean {
    return this.#away === 0 && this.#meanMs <= QUICK_MS && this.#inARow < MAX_IN_A_ROW && this.#writer.isIdle;
  }

  /** False: another program holds the database. The writer thread can wait for it. */
  #commitHere({ number, accounts }: Commit): boolean {
    try {
      this.#learn(this.#direct.append(number, accounts));
    } catch (error) {
      const failure = toWriteFailure(error);
      if (failure.kind === 'busy') return false;
      if (endsWriting(failure.kind)) this.#writer.breakDown(failure);
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
