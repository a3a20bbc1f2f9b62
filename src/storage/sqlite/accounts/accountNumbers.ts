import { StorageUnavailable } from '../../port/storage.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import type { SqliteThread } from '../thread/threadClient.ts';

/** Numbers are reserved in blocks, so that creating a key seldom costs a second commit. */
const BLOCK = 1000;

/** Numbers for new accounts, one after the other, never given twice: what a block has left at a crash is lost. */
export class AccountNumbers {
  readonly #writer: SqliteThread;
  #next = 0;
  #end = 0;
  #taking: Promise<unknown> = Promise.resolve();

  constructor(writer: SqliteThread) {
    this.#writer = writer;
  }

  reserve(count: number): Promise<readonly number[]> {
    const taken = this.#taking.then(() => this.#take(count));
    this.#taking = taken.catch(() => undefined);
    return taken;
  }

  async #take(count: number): Promise<readonly number[]> {
    if (this.#end - this.#next < count) {
      const block = Math.max(BLOCK, count);
      this.#next = await this.#writer.call('reserve', block).catch((error: unknown) => {
        throw new StorageUnavailable(toWriteFailure(error).message);
      });
      this.#end = this.#next + block;
    }
    const first = this.#next;
    this.#next += count;
    return Array.from({ length: count }, (_, i) => first + i);
  }
}
