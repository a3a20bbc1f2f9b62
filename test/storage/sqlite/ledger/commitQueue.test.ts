import { expect, test, afterEach, beforeEach, jest, describe } from 'bun:test';

import { BatchQueue, CommitNumberFile, CommitPath } from '../../../../src/storage/sqlite/ledger/commitQueue.ts';
import { toWriteFailure, WriteFailure } from '../../../../src/storage/sqlite/file/writeFailure.ts';
import type { SqliteThread } from '../../../../src/storage/sqlite/thread/threadClient.ts';
import { Batch } from '../../../../src/storage/sqlite/ledger/batch.ts';
import type { Commit, CommitRows } from '../../../../src/storage/sqlite/writer/commit.ts';
import { credits } from '../../../core/ledgerView.ts';

/** A queue whose batches the test ends one by one. */
class Queue {
  readonly batches: string[][] = [];
  #end: (() => void) | null = null;
  readonly queue = new BatchQueue<string>(async (items) => {
    this.batches.push([...items]);
    await new Promise<void>((end) => (this.#end = end));
  });

  add(...items: string[]): void {
    for (const item of items) this.queue.add(item, item.startsWith('heavy'));
  }

  /** The next batch is under way. */
  async next(): Promise<void> {
    const { length } = this.batches;
    this.#end?.();
    this.#end = null;
    while (this.batches.length === length) await new Promise((go) => setImmediate(go));
  }

  async end(): Promise<void> {
    this.#end?.();
    await this.queue.untilIdle();
  }
}

test('what arrives during a batch is the next one', async () => {
  const queue = new Queue();
  queue.add('a', 'b');
  await queue.next();
  queue.add('c');
  queue.add('d');
  await queue.next();
  await queue.end();
  expect(queue.batches).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

test('a heavy item is a batch by itself, and others wait for one of them at the most', async () => {
  const queue = new Queue();
  queue.add('heavy 1', 'heavy 2', 'heavy 3', 'a');
  expect(queue.queue.length).toBe(4);
  await queue.next();
  queue.add('b');
  await queue.next();
  queue.add('c', 'd');
  await queue.next();
  await queue.next();
  await queue.next();
  await queue.end();
  expect(queue.batches).toEqual([['a'], ['heavy 1'], ['b', 'c', 'd'], ['heavy 2'], ['heavy 3']]);
  expect(queue.queue.length).toBe(0);
});

describe('the file commit-number', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** A writer's thread that has no descriptors left for as long as `isFull` is true. */
  class FakeWriter {
    isFull = false;
    readonly isBroken = false;
    readonly texts: string[] = [];
    tries = 0;

    readonly call = (async (_method: string, _path: string, text: string) => {
      this.tries++;
      if (this.isFull) throw toWriteFailure(Object.assign(new Error('too many open files'), { code: 'EMFILE' }));
      this.texts.push(text);
    }) as unknown as SqliteThread['call'];
  }

  async function aSecondLater(): Promise<void> {
    jest.advanceTimersByTime(1000);
    for (let i = 0; i < 5; i++) await Promise.resolve();
  }

  function open(): { writer: FakeWriter; failures: string[]; file: CommitNumberFile; commit: () => void } {
    const writer = new FakeWriter();
    const failures: string[] = [];
    let number = 7;
    const failed = (reason: string): void => void failures.push(reason);
    const file = new CommitNumberFile({ folder: '/data', folderId: 'folder_1', number: () => number, writer, failed });
    const commit = (): void => {
      number++;
      file.note();
    };
    return { writer, failures, file, commit };
  }

  test('the number is written at the start, and once in a second after commits', async () => {
    const { writer, file, commit } = open();
    for (let i = 0; i < 3; i++) commit();
    await aSecondLater();
    await aSecondLater();
    expect(writer.texts).toEqual(['7 folder_1\n', '10 folder_1\n']);
    commit();
    await file.close();
    expect(writer.texts.at(-1)).toBe('11 folder_1\n');
  });

  test('a number that could not be written is tried again every second without another commit, and told of once', async () => {
    const { writer, failures, file, commit } = open();
    await aSecondLater();
    writer.isFull = true;
    commit();
    for (let i = 0; i < 3; i++) await aSecondLater();
    expect([writer.tries, writer.texts]).toEqual([4, ['7 folder_1\n']]);
    expect(failures).toEqual(['EMFILE: too many open files']);
    writer.isFull = false;
    await aSecondLater();
    expect(writer.texts).toEqual(['7 folder_1\n', '8 folder_1\n']);
    await aSecondLater();
    expect(writer.tries).toBe(5);
    await file.close();
  });

  test('nothing is tried again after the end', async () => {
    const { writer, failures, file, commit } = open();
    await aSecondLater();
    writer.isFull = true;
    commit();
    await file.close();
    await aSecondLater();
    expect([writer.tries, failures]).toEqual([2, []]);
  });
});

describe('the path of a commit', () => {
  const QUICK_MS = 0.1;

  /** Where each commit went, with its number. */
  let went: string[] = [];
  let broken: WriteFailure[] = [];
  let tookMs = QUICK_MS;
  let failure: WriteFailure | null = null;
  let isIdle = true;
  let number = 0;
  let committing: CommitPath;

  beforeEach(() => {
    went = [];
    broken = [];
    tookMs = QUICK_MS;
    failure = null;
    isIdle = true;
    number = 0;
    const thread = {
      get isIdle() {
        return isIdle;
      },
      async call(method: string, ...args: unknown[]) {
        const [sent] = args;
        const events = typeof sent === 'string' ? ((JSON.parse(sent) as CommitRows).events ?? []) : [];
        went.push(`${method} ${typeof sent === 'string' ? events.length : (sent as Commit).number}`);
        return tookMs as never;
      },
      breakDown: (error: WriteFailure) => void broken.push(error),
    };
    const direct = {
      append(commit: number) {
        if (failure !== null) throw failure;
        went.push(`here ${commit}`);
        return tookMs;
      },
    };
    committing = new CommitPath(thread, direct);
  });

  function batch(): Batch {
    const made = new Batch({ idempotency: { rotation: () => ({ empties: false }) } } as never, 0, 0);
    made.put(1, credits(1));
    return made;
  }

  /** Commits so often; answers how many of them were flushed here. */
  async function here(times: number): Promise<number> {
    const before = went.length;
    for (let i = 0; i < times; i++) await committing.commit(batch(), ++number);
    return went.slice(before).filter((where) => where.startsWith('here')).length;
  }

  describe('a batch that only spends', () => {
    test('is flushed here, from the first one on', async () => {
      expect(await here(10)).toBe(10);
    });

    test('is left to the thread where flushes take longer, as soon as that is known', async () => {
      tookMs = 2;
      expect(await here(1000)).toBe(4);
    });

    test('is left to the thread for long after a flush that took very long, here or there', async () => {
      await here(100);
      tookMs = 20;
      expect(await here(1)).toBe(1);
      tookMs = QUICK_MS;
      expect(await here(1000)).toBe(0);
      tookMs = 15;
      expect(await here(1)).toBe(0);
      tookMs = QUICK_MS;
      expect(await here(1500)).toBe(0);
      expect(await here(10)).toBe(10);
    });

    test('a disk that stalls now and then is left to the thread for good', async () => {
      let stalled = 0;
      for (let i = 0; i < 100; i++) {
        tookMs = 100;
        stalled += await here(1);
        tookMs = QUICK_MS;
        await here(199);
      }
      expect(stalled).toBe(1);
    });

    test('one that took a little longer changes nothing', async () => {
      await here(100);
      tookMs = 5;
      await here(1);
      tookMs = QUICK_MS;
      expect(await here(10)).toBe(10);
    });

    test('goes through the thread once in a while: that one brings the log into the database', async () => {
      await here(100);
      expect(await here(10 * 257)).toBe(10 * 256);
    });

    test('goes through the thread while that has something else to do', async () => {
      isIdle = false;
      expect(await here(10)).toBe(0);
      isIdle = true;
      expect(await here(10)).toBe(10);
    });

    test('is left to the thread, which can wait, when another program holds the database', async () => {
      await here(100);
      failure = new WriteFailure('busy', 'held');
      expect(await here(1)).toBe(0);
      expect(went.at(-1)).toBe('commit 101');
    });

    test('fails when the disk is full, and nothing is broken by it', async () => {
      await here(100);
      failure = new WriteFailure('full', 'no space');
      expect(await here(1).catch((error: unknown) => error)).toBe(failure);
      expect(broken).toEqual([]);
      failure = null;
      expect(await here(1)).toBe(1);
    });

    test('that finds the disk broken ends the thread too: nothing is written any more', async () => {
      await here(100);
      failure = new WriteFailure('broken', 'SQLITE_IOERR_FSYNC');
      expect(await here(1).catch((error: unknown) => error)).toBe(failure);
      expect(broken).toEqual([failure]);
    });
  });

  test('the rows of a large change are sent in parts, and others are served between two of them', async () => {
    const committed = { idempotency: { rotation: () => ({ empties: false }) }, accounts: { readTogether() {} } };
    const large = new Batch(committed as never, 0, 0);
    const events = Array.from(
      { length: 450 },
      (_, i) => ({ id: `evt_${i}`, type: 'key.created', data: '{}' }) as const,
    );
    large.decide({ change: { writes: [], accounts: [], events } });
    let passes = 0;
    const pass = (): void => {
      passes++;
      if (went.length < 4) setImmediate(pass);
    };
    setImmediate(pass);
    await committing.commit(large, ++number);
    expect(went).toEqual(['takeRows 200', 'takeRows 200', 'takeRows 50', 'commit 1']);
    expect(passes).toBeGreaterThanOrEqual(3);
  });

  test('a batch with more to it always goes through the thread', async () => {
    await here(100);
    const more = new Batch({ idempotency: { rotation: () => ({ empties: true }) } } as never, 0, 0);
    more.decide({ rotateIdempotency: true });
    await committing.commit(more, ++number);
    expect(went.at(-1)).toBe('commit 101');
  });
});
