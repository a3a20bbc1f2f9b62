import { PROGRAM_FILES } from '../../../programFiles.ts';
import { WriteFailure } from '../file/writeFailure.ts';
import { requireSpareFiles } from '../file/spareFiles.ts';
import type { Method, ThreadMethods, ThreadReply, ThreadStart } from './threadMessages.ts';

/** Twice what a thread opens to start (event loop, program, database). Measured: 6. */
const FILES_OF_A_THREAD = 12;

interface Waiter {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Main side of a worker thread: calls are answered in the order in which they were made. */
export class SqliteThread {
  readonly #worker: Worker;
  readonly #waiters: Waiter[] = [];
  readonly #onBroken: (failure: WriteFailure) => void;
  #dead: WriteFailure | null = null;

  static async start(options: ThreadStart, onBroken: (failure: WriteFailure) => void): Promise<SqliteThread> {
    requireSpareFiles(FILES_OF_A_THREAD);
    const thread = new SqliteThread(onBroken);
    try {
      await thread.call('start', options);
      return thread;
    } catch (error) {
      // A thread without its database is of no use.
      thread.#worker.terminate();
      throw error;
    }
  }

  /** `onBroken` is called once, at the first failure after which nothing may be trusted. */
  private constructor(onBroken: (failure: WriteFailure) => void) {
    this.#onBroken = onBroken;
    this.#worker = new Worker(PROGRAM_FILES.thread);
    this.#worker.onmessage = (event: MessageEvent<ThreadReply>) => this.#receive(event.data);
    this.#worker.onerror = (event) => {
      this.#fail(new WriteFailure('broken', `the database thread ended: ${event.message}`));
    };
  }

  /** It has done all that it was asked. */
  get isIdle(): boolean {
    return this.#waiters.length === 0;
  }

  get isBroken(): boolean {
    return this.#dead !== null;
  }

  async call<M extends Method>(
    method: M,
    ...args: Parameters<ThreadMethods[M]>
  ): Promise<ReturnType<ThreadMethods[M]>> {
    if (this.#dead !== null) throw this.#dead;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiters.push({ resolve, reject });
    this.#worker.postMessage({ method, args });
    return (await promise) as ReturnType<ThreadMethods[M]>;
  }

  async close(): Promise<void> {
    if (this.#dead !== null) return;
    await this.call('close');
    this.#dead = new WriteFailure('broken', 'the database is closed');
    this.#worker.terminate();
  }

  #receive(reply: ThreadReply): void {
    const waiter = this.#waiters.shift();
    if (reply.ok) waiter?.resolve(reply.value);
    else waiter?.reject(new WriteFailure(reply.kind, reply.message));
    if (!reply.ok && reply.isLast) this.#fail(new WriteFailure(reply.kind, reply.message));
  }

  /** Asks nothing more of this thread. Everyone who waits for it fails. */
  breakDown(failure: WriteFailure): void {
    if (this.#dead !== null) return;
    // A thread that is ended at once would checkpoint first, which is a second flush after a failed one.
    this.#worker.onmessage = (event: MessageEvent<ThreadReply>) => {
      if (!event.data.ok) this.#worker.terminate();
    };
    this.#worker.postMessage({ method: 'letGo', args: [] });
    this.#fail(failure, false);
  }

  /** A thread that reports a failure has closed its files by itself. */
  #fail(failure: WriteFailure, hasLetGo = true): void {
    if (this.#dead !== null) return;
    this.#dead = failure;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#dead);
    if (hasLetGo) this.#worker.terminate();
    this.#onBroken(this.#dead);
  }
}
