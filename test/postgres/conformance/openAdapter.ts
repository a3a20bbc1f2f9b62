import type { Storage } from '../../../src/storage/port/storage.ts';

/** A storage under test, and the ways in which it can end and begin again. */
export interface OpenedStorage {
  readonly storage: Storage;
  /** A clean end and a new start on the same data. */
  reopen(): Promise<void>;
  /** What a new start finds after an end without warning at this moment. This one goes on. */
  afterCrash(): Promise<OpenedStorage>;
  /** What its data takes, logs included. */
  bytesOnDisk(): Promise<number>;
  /** Removes all records and accounts, while it is open. Missing where only the storage itself may write. */
  empty?(): Promise<void>;
  close(): Promise<void>;
}

/** What every adapter is opened with. */
export const RETENTION_MS = 3_600_000;
