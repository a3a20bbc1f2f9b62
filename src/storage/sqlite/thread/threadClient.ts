import type { LocalCountColumns } from '../local/localCountRows.ts';
import { type FailureKind, WriteFailure } from '../file/writeFailure.ts';
import type { Statement } from '../../sql/statement.ts';
import { requireSpareFiles } from '../file/spareFiles.ts';
import type { Commit, WriterOptions } from '../log/writer.ts';

/** What a thread is: the only writer of the database, that of the counts, which no verification waits for, or a reader of both. */
export type ThreadStart =
  | ({ readonly role: 'writer' | 'counts' } & WriterOptions)
  | { readonly role: 'reader'; readonly path: string; readonly analyticsPath: string };

/** What a thread can be asked, and what it answers. */
interface ThreadMethods {
  start(options: ThreadStart): void;
  commit(commit: Commit): void;
  fold(numbers: Float64Array): void;
  trim(number: number, rows: number): boolean;
  saveEdge(counts: LocalCountColumns, isLast: boolean): void;
  pruneLocalCounts(endedAtMs: number): void;
  reserve(count: number): number;
  noteCommit(path: string, text: string): void;
  setMaxPages(pages: number | null): void;
  query(statement: Statement): unknown[];
  /** All in one transaction; answers how many rows each of them changed. */
  write(statements: readonly Statement[]): number[];
  unpackCounts(): boolean;
  foldCounts(): boolean;
  close(): void;
  /** From now on nothing is written, not even what is left of a write that failed. */
  letGo(): void;
}

type Method = keyof ThreadMethods;

export type ThreadCall = { [M in Method]: { readonly method: M; readonly args: Parameters<ThreadMethods[M]> } }[Method];

/** True: it was done, and there is nothing to answer. A number: how many milliseconds a commit took. */
export type ThreadReply =
  | true
  | number
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly kind: FailureKind; readonly message: string };

/** What a thread opens to start, twice: its event loop, the program, the database. Measured: 6. */
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
      // A thread without its database is of no use, whatever the reason is.
      thread.#worker.terminate();
      throw error;
    }
  }

  /** `onBroken` is called once, at the first failure after which nothing may be trusted. */
  private constructor(onBroken: (failure: WriteFailure) => void) {
    this.#onBroken = onBroken;
    this.#worker = new Worker(new URL('./thread.ts', import.meta.url));
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
    return (await this.#post({ method, args })) as ReturnType<ThreadMethods[M]>;
  }

  /** A commit of nothing but accounts; answers how many milliseconds it took. A block of numbers by itself is handed over at half of what an object costs. */
  async commitAccounts(number: number, accounts: Float64Array): Promise<number> {
    const message = new Float64Array(1 + accounts.length);
    message[0] = number;
    message.set(accounts, 1);
    return (await this.#post(message)) as number;
  }

  #post(message: { readonly method: Method; readonly args: readonly unknown[] } | Float64Array): Promise<unknown> {
    if (this.#dead !== null) return Promise.reject(this.#dead);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiters.push({ resolve, reject });
    this.#worker.postMessage(message);
    return promise;
  }

  async close(): Promise<void> {
    if (this.#dead !== null) return;
    await this.call('close');
    this.#dead = new WriteFailure('broken', 'the database is closed');
    this.#worker.terminate();
  }

  #receive(reply: ThreadReply): void {
    const waiter = this.#waiters.shift();
    if (reply === true) return waiter?.resolve(undefined);
    if (typeof reply === 'number') return waiter?.resolve(reply);
    if (reply.ok) waiter?.resolve(reply.value);
    else waiter?.reject(new WriteFailure(reply.kind, reply.message));
    if (!reply.ok && reply.kind === 'broken') this.#fail(new WriteFailure('broken', reply.message));
  }

  /** Nothing more is asked of this thread, and nobody hears of what it was asked. */
  breakDown(failure: WriteFailure): void {
    if (this.#dead !== null) return;
    // Ended as it is, it would bring the log into the database first: a second flush after one that has failed.
    this.#worker.onmessage = (event: MessageEvent<ThreadReply>) => {
      if (typeof event.data === 'object' && !event.data.ok) this.#worker.terminate();
    };
    this.#worker.postMessage({ method: 'letGo', args: [] });
    this.#fail(failure, false);
  }

  /** A thread that has told of a failure has let go by itself. */
  #fail(failure: WriteFailure, hasLetGo = true): void {
    if (this.#dead !== null) return;
    this.#dead = failure;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#dead);
    if (hasLetGo) this.#worker.terminate();
    this.#onBroken(this.#dead);
  }
}
