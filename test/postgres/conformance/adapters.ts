import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout } from 'bun:test';
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Storage } from '../../../src/storage/port/storage.ts';
import { DataFolder } from '../../../src/storage/sqlite/file/dataFolder.ts';
import { SqliteStorage } from '../../../src/storage/sqlite/storage.ts';
import { VirtualClock } from '../../support/clock.ts';
import { type OpenedStorage, RETENTION_MS } from './openAdapter.ts';
import { PostgresInDatabase } from './postgres.ts';

/** An adapter of the storage port: a new one is a new entry in ADAPTERS, and passes every file of this folder. */
export interface Adapter {
  readonly name: string;
  open(clock: VirtualClock): Promise<OpenedStorage>;
}

class SqliteInFolder implements OpenedStorage {
  readonly #path: string;
  readonly #clock: VirtualClock;
  #folder: DataFolder;
  #storage: SqliteStorage;

  private constructor(path: string, clock: VirtualClock, folder: DataFolder, storage: SqliteStorage) {
    this.#path = path;
    this.#clock = clock;
    this.#folder = folder;
    this.#storage = storage;
  }

  static async start(path: string, clock: VirtualClock): Promise<SqliteInFolder> {
    const folder = DataFolder.own(path, { pid: process.pid, host: 'test', startedAt: 'now', control: null, url: null });
    return new SqliteInFolder(path, clock, folder, await openSqlite(folder, clock));
  }

  get storage(): Storage {
    return this.#storage;
  }

  async reopen(): Promise<void> {
    await this.#stop();
    this.#folder = DataFolder.own(this.#path, {
      pid: process.pid,
      host: 'test',
      startedAt: 'now',
      control: null,
      url: null,
    });
    this.#storage = await openSqlite(this.#folder, this.#clock);
  }

  /** The files as they are now, with no chance to write anything more: what a killed process leaves. */
  async afterCrash(): Promise<OpenedStorage> {
    const copy = newFolder();
    cpSync(this.#path, copy, { recursive: true });
    return SqliteInFolder.start(copy, this.#clock);
  }

  async bytesOnDisk(): Promise<number> {
    // A file that is being replaced may be gone.
    const sizeOf = (name: string): number => statSync(join(this.#path, name), { throwIfNoEntry: false })?.size ?? 0;
    return readdirSync(this.#path).reduce((sum, name) => sum + sizeOf(name), 0);
  }

  async close(): Promise<void> {
    await this.#stop();
    rmSync(this.#path, { recursive: true, force: true });
  }

  async #stop(): Promise<void> {
    await this.#storage.close();
    this.#folder.release();
  }
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'keystile-conformance-'));
}

function openSqlite(folder: DataFolder, clock: VirtualClock): Promise<SqliteStorage> {
  return SqliteStorage.open({
    folder,
    nowMs: clock.nowMs,
    newWorkspaceId: () => 'ws_conformance',
    newFolderId: () => 'folder_conformance',
    maxWaiting: 20_000,
    idempotencyRetentionMs: RETENTION_MS,
    acceptLostCommits: false,
    addedFlushMs: 0,
    onBroken: (error) => {
      throw error;
    },
    onDamage: (path, reason) => expect.unreachable(`${path}: ${reason}`),
    observe: { committed() {}, applyFailed() {}, noteFailed() {}, refused() {} },
  });
}

export const ADAPTERS: readonly Adapter[] = [
  { name: 'sqlite', open: (clock) => SqliteInFolder.start(newFolder(), clock) },
  { name: 'postgres', open: (clock) => PostgresInDatabase.start(clock) },
];

const DAY_MS = 86_400_000;
const STARTS_AT = '2026-03-15T12:00:00Z';

/** One storage on its own clock; everything that was opened is closed at the end. */
export class Setup {
  readonly clock = new VirtualClock(STARTS_AT);
  readonly #opened: OpenedStorage[] = [];

  static async make(adapter: Adapter): Promise<Setup> {
    const setup = new Setup();
    setup.#opened.push(await adapter.open(setup.clock));
    return setup;
  }

  get storage(): Storage {
    return this.#first.storage;
  }

  reopen(): Promise<void> {
    return this.#first.reopen();
  }

  /** What a crash would leave now. A copy is closed when the next one is made. */
  async afterCrash(): Promise<Storage> {
    await this.#closeCopy();
    const copy = await this.#first.afterCrash();
    this.#opened.push(copy);
    return copy.storage;
  }

  bytesOnDisk(): Promise<number> {
    return this.#first.bytesOnDisk();
  }

  /**
   * Makes it ready for the next test: without records, at the same time of a later day, because what is open remembers what time it was. False:
   * the next test needs another one.
   */
  async renew(): Promise<boolean> {
    await this.#closeCopy();
    if (this.#first.empty === undefined) return false;
    await this.#first.empty();
    const startedAtMs = Date.parse(STARTS_AT);
    const days = Math.max(0, Math.floor((this.clock.nowMs() - startedAtMs) / DAY_MS));
    this.clock.set(startedAtMs + (days + 1) * DAY_MS);
    return true;
  }

  async close(): Promise<void> {
    for (const opened of this.#opened) await opened.close();
  }

  async #closeCopy(): Promise<void> {
    for (const copy of this.#opened.splice(1)) await copy.close();
  }

  get #first(): OpenedStorage {
    const [first] = this.#opened;
    if (first === undefined) throw new Error('nothing is open');
    return first;
  }
}

/** A slow disk under a busy machine makes a test slow, not wrong. */
const TIMEOUT_MS = 60_000;

/**
 * Runs the tests once for every adapter, each test on a storage without records. One that can be emptied stays open for the next test: to open
 * and close a node takes longer than most tests.
 */
export function describePort(part: string, tests: (setup: () => Setup) => void): void {
  setDefaultTimeout(TIMEOUT_MS);
  for (const adapter of ADAPTERS) {
    describe(`${adapter.name}: ${part}`, () => {
      let setup: Setup | null = null;
      const close = async (): Promise<void> => {
        await setup?.close();
        setup = null;
      };
      beforeEach(async () => {
        setup ??= await Setup.make(adapter);
      });
      afterEach(async () => {
        if ((await setup?.renew()) === false) await close();
      });
      afterAll(close);
      tests(() => {
        if (setup === null) throw new Error('no test has begun');
        return setup;
      });
    });
  }
}
