import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { RecordChange } from '../../src/storage/port/freshness.ts';
import type { Change, ChangeOutcome, LoadedCount, LocalCount } from '../../src/storage/port/storage.ts';
import { endsChecks, recordChangeOf } from '../../src/storage/port/writes.ts';
import { DataFolder } from '../../src/storage/sqlite/file/dataFolder.ts';
import { SqliteStorage } from '../../src/storage/sqlite/storage.ts';

interface Numbered {
  readonly number: number;
  readonly keys: readonly string[];
  readonly root_keys: boolean;
  readonly subjects: string;
}

/** More changes than a poll brings: the node then drops all that it keeps, as with a real database. */
const MAX_CHANGES = 1_000;

/**
 * The database that all nodes of a world share: the real embedded one, with what many nodes need besides. Changes of records are numbered in
 * the order of their commits, and local counts are kept by node.
 */
export class Primary {
  readonly storage: SqliteStorage;
  readonly localCounts = new SharedCounts();
  readonly #folder: DataFolder;
  readonly #path: string;
  readonly #changes: Numbered[] = [];
  #number = 0;
  #token = 1;
  /** Hears of every numbered change. */
  onChange: () => void = () => {};

  private constructor(path: string, folder: DataFolder, storage: SqliteStorage) {
    this.#path = path;
    this.#folder = folder;
    this.storage = storage;
  }

  static async open(nowMs: () => number): Promise<Primary> {
    const path = mkdtempSync(join(tmpdir(), 'keystile-sim-'));
    const folder = DataFolder.own(path, { pid: process.pid, host: 'sim', startedAt: 'now', control: null, url: null });
    const storage = await SqliteStorage.open({
      folder,
      nowMs,
      newWorkspaceId: () => 'ws_sim',
      newFolderId: () => 'folder_sim',
      maxWaiting: 20_000,
      idempotencyRetentionMs: 3_600_000,
      acceptLostCommits: false,
      addedFlushMs: 0,
      onBroken: (error) => {
        throw error;
      },
      onDamage: (file, reason) => {
        throw new Error(`${file}: ${reason}`);
      },
      observe: { committed() {}, applyFailed() {}, noteFailed() {}, refused() {} },
    });
    return new Primary(path, folder, storage);
  }

  async apply(change: Change): Promise<ChangeOutcome> {
    const outcome = await this.storage.ledger.apply(change);
    const changed = outcome.status === 'done' ? recordChangeOf(change.writes) : null;
    if (changed !== null) this.#take(changed, endsChecks(change.writes));
    return outcome;
  }

  #take({ keys, rootKeys, ...subjects }: RecordChange, endsAll: boolean): void {
    this.#number++;
    if (endsAll) this.#token++;
    const row = { number: this.#number, keys: keys ?? [], root_keys: rootKeys, subjects: JSON.stringify(subjects) };
    this.#changes.push(row);
    this.onChange();
  }

  /** The answer to the poll of a node that has seen this number; null = none. */
  poll(seen: number | null) {
    const first = this.#changes.findLastIndex(({ number }) => number <= (seen ?? this.#number)) + 1;
    return {
      last: this.#number,
      token: String(this.#token),
      now: this.storage.ledger.nowMs(),
      timeline: 1,
      moved: false,
      changes: this.#changes.slice(first, first + MAX_CHANGES),
      fsync: true,
      full_page_writes: true,
      awaits_standby: false,
    };
  }

  async close(): Promise<void> {
    await this.storage.close();
    this.#folder.release();
    rmSync(this.#path, { recursive: true, force: true });
  }
}

interface Counted {
  count: number;
  /** The exchange in which it was last changed. */
  version: number;
}

interface CountedWindow extends Omit<LocalCount, 'count'> {
  readonly byNode: Map<string, Counted>;
}

/** The counts of local limits that nodes exchange: each writes its own, and reads the sums of the others. */
class SharedCounts {
  readonly #windows = new Map<string, CountedWindow>();
  /** Up to which version each node has read. */
  readonly #read = new Map<string, number>();
  #version = 0;

  load(node: string, owner: string): LoadedCount[] {
    return [...this.#windows.values()]
      .filter((window) => window.owner === owner)
      .map(({ byNode, ...window }) => ({
        ...window,
        count: byNode.get(node)?.count ?? 0,
        others: sumOf(byNode, node),
      }));
  }

  sync(node: string, counts: readonly LocalCount[], isLast: boolean): LocalCount[] {
    for (const { owner, name, durationMs, resetAtMs, count } of counts) {
      const id = JSON.stringify([owner, name, durationMs, resetAtMs]);
      const window: CountedWindow = this.#windows.get(id) ?? { owner, name, durationMs, resetAtMs, byNode: new Map() };
      this.#windows.set(id, window);
      const before = window.byNode.get(node)?.count ?? 0;
      // A message that arrives late brings nothing back.
      if (count > before) window.byNode.set(node, { count, version: ++this.#version });
    }
    if (!isLast) return [];
    const after = this.#read.get(node) ?? 0;
    this.#read.set(node, this.#version);
    return [...this.#windows.values()].flatMap(({ byNode, ...window }) => {
      const isNew = [...byNode].some(([other, { version }]) => other !== node && version > after);
      return isNew ? [{ ...window, count: sumOf(byNode, node) }] : [];
    });
  }

  forgetEnded(untilMs: number): void {
    for (const [id, { resetAtMs }] of this.#windows) if (resetAtMs < untilMs) this.#windows.delete(id);
  }
}

function sumOf(byNode: ReadonlyMap<string, Counted>, except: string): number {
  let sum = 0;
  for (const [node, { count }] of byNode) if (node !== except) sum += count;
  return sum;
}
