import type { Statement, WriteStatement } from '../../sql/query/statement.ts';
import type { WriteFailureKind } from '../file/writeFailure.ts';
import type { LocalCountColumns } from '../writer/localCountRows.ts';
import type { Commit, WriterOptions } from '../writer/commit.ts';

/**
 * What a thread is: the writer of the database, the writer of analytics.db, for which no verification waits, or a reader of both. A
 * copier is a reader for backups, which leaves the processor to the others.
 */
export type ThreadStart =
  | ({ readonly role: 'writer' | 'counts' } & WriterOptions)
  | { readonly role: 'reader' | 'copier'; readonly path: string; readonly analyticsPath: string };

/** What a thread can be asked, and what it answers. */
export interface ThreadMethods {
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
  /** All in one transaction. Answers how many rows each of them changed. Refused when one changes another number than it must. */
  write(statements: readonly (Statement & Partial<WriteStatement>)[]): number[];
  unpackCounts(): boolean;
  foldCounts(): boolean;
  close(): void;
  /** From now on the thread writes nothing, not even the rest of a write that failed. */
  letGo(): void;
}

export type Method = keyof ThreadMethods;

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
