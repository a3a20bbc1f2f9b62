import { expect, test } from 'bun:test';

import { BatchQueue } from '../../../src/storage/sqlite/ledger/commitQueue.ts';

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
