import type { DataHeader, DataTrailer, EngineName } from './dataFormat.ts';
import type { DataRow, DataTable } from './dataTables.ts';

/** A database that is read for an export. */
export interface DataSource {
  readonly engine: EngineName;
  readonly schema: number;
  readonly installation: string;
  /** Rows of a table in the order of its key, some at a time. All reads share one transaction. */
  read(table: DataTable): AsyncIterable<readonly DataRow[]>;
  close(): Promise<void>;
}

/** Rows of one table, in the order of the file. */
export interface DataBatch {
  readonly table: DataTable;
  readonly rows: readonly DataRow[];
  /** The line that each row comes from. */
  readonly lines: readonly number[];
  /** The last line that was read for this batch. */
  readonly lastLine: number;
  /** The SHA-256 of all rows of the file up to that line. */
  readonly sha256: string;
}

export interface FinishedData {
  readonly header: DataHeader;
  readonly trailer: DataTrailer;
  /** The number of rows that each table must have by now. For a former table it differs from the number in the file. */
  readonly rows: ReadonlyMap<string, number>;
  readonly importedAtMs: number;
}

/** A new or empty database that is filled by an import. Nobody uses it before `finish`. */
export interface DataTarget {
  /** The last line that an earlier import of the same file has stored; 0 = none. `sha256` belongs to the batch with that line. */
  readonly stored: { readonly line: number; readonly sha256: string | null };
  /** The batch is stored as a whole, or not at all. */
  add(batch: DataBatch): Promise<void>;
  finish(finished: FinishedData): Promise<void>;
  /** Must be called whether or not `finish` was called. */
  close(): Promise<void>;
}
