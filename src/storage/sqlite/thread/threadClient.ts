import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

import { PROGRAM_FILES } from '../../../programFiles.ts';
import type { Statement, WriteStatement } from '../../sql/query/statement.ts';
import { toWriteFailure, WriteFailure, type WriteFailureKind } from '../file/writeFailure.ts';
import type { Commit, WriterOptions } from '../writer/commit.ts';
import type { LocalCountColumns } from '../writer/localCountRows.ts';

/** Twice the number of files that a thread opens to start (event loop, program, database). Measured: 6. */
const FILES_OF_A_THREAD = 12;

interface Waiter {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** The main side of a worker thread: calls are answered in the order in which they were made. */
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
      // A thread without its database is useless.
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

  /** The thread has done everything that it was asked. */
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

  /** Asks this thread nothing more. All waiting calls fail. */
  breakDown(failure: WriteFailure): void {
    if (this.#dead !== null) return;
    // Ending a thread at once would checkpoint first, which is a second flush after a failed one.
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

/**
 * The kinds of threads: the writer of the database, the writer of analytics.db, for which no verification waits, and a reader of both. A
 * copier is a reader for backups with a lower priority.
 */
export type ThreadStart =
  | ({ readonly role: 'writer' | 'counts' } & WriterOptions)
  | { readonly role: 'reader' | 'copier'; readonly path: string; readonly analyticsPath: string };

/** The calls that a thread answers. */
interface ThreadMethods {
  start(options: ThreadStart): void;
  /** A part of the rows of the next commit, as JSON (CommitRows). */
  takeRows(rows: string): void;
  /** Answers how many milliseconds it took. */
  commit(commit: Commit): number;
  applyAccounts(numbers: Float64Array): void;
  trimLog(number: number, rows: number): boolean;
  saveLocalCounts(counts: LocalCountColumns, isLast: boolean): void;
  pruneLocalCounts(endedAtMs: number): void;
  reserve(count: number): number;
  noteCommit(path: string, text: string): void;
  setMaxPages(pages: number | null): void;
  query(statement: Statement): unknown[];
  /** All in one transaction. Returns how many rows each of them changed. Refused if one changes a wrong number of rows. */
  write(statements: readonly (Statement & Partial<WriteStatement>)[]): number[];
  unpackCounts(): boolean;
  foldCounts(): boolean;
  close(): void;
  /** After this the thread writes nothing, not even the rest of a failed write. */
  letGo(): void;
}

type Method = keyof ThreadMethods;

export type ThreadCall = { [M in Method]: { readonly method: M; readonly args: Parameters<ThreadMethods[M]> } }[Method];

export type ThreadReply =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly kind: WriteFailureKind;
      readonly message: string;
      /** The thread has closed its files and does nothing more. */
      readonly isLast: boolean;
    };

/** A thread that starts on first use. After a failure, the next use starts a new one. So its work must be repeatable. */
export class LazyThread {
  readonly #options: ThreadStart;
  readonly #onFailure: (failure: WriteFailure) => void;
  #started: Promise<SqliteThread> | null = null;

  /** `onFailure` is told what ended a thread. */
  constructor(options: ThreadStart, onFailure: (failure: WriteFailure) => void = () => {}) {
    this.#options = options;
    this.#onFailure = onFailure;
  }

  get isStarted(): boolean {
    return this.#started !== null;
  }

  get(): Promise<SqliteThread> {
    if (this.#started === null) {
      const started = SqliteThread.start(this.#options, (failure) => {
        this.#forget(started);
        this.#onFailure(failure);
      });
      started.catch(() => this.#forget(started));
      this.#started = started;
    }
    return this.#started;
  }

  async close(): Promise<void> {
    await (await this.#started?.catch(() => null))?.close();
  }

  #forget(started: Promise<SqliteThread>): void {
    if (this.#started === started) this.#started = null;
  }
}

/**
 * Fails with a WriteFailure if fewer files than this can be opened now. Called before a thread is started, because the runtime ends the
 * whole process if it cannot open the event loop of a thread.
 */
function requireSpareFiles(count: number): void {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, 'r'));
  } catch (error) {
    throw toWriteFailure(error);
  } finally {
    for (const file of opened) closeSync(file);
  }
}
