import { describe, expect, test } from 'bun:test';

import { FairQueue } from '../../src/basics/fairQueue.ts';

function queueOf(items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  // The first letter is the client.
  for (const item of items) queue.add(item[0] ?? '', item);
  return queue;
}

function takeAll(queue: FairQueue<string>): string[] {
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken;
}

describe('a fair queue', () => {
  test('clients take turns, whoever has how many items, and each one in its own order', () => {
    const queue = queueOf(['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']);
    expect(takeAll(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4']);
    expect(queue.isEmpty).toBe(true);
  });

  test('a client that comes later has its turn before the second one of the others', () => {
    const queue = queueOf(['a1', 'a2', 'b1', 'b2']);
    expect(queue.take()).toBe('a1');
    queue.add('c', 'c1');
    expect(takeAll(queue)).toEqual(['b1', 'a2', 'c1', 'b2']);
  });

  test('what was begun comes before the other items of its client, and not before other clients', () => {
    const queue = queueOf(['a1', 'a2', 'b1', 'b2']);
    expect(queue.take()).toBe('a1');
    queue.addFirst('a', 'a1 again');
    expect(takeAll(queue)).toEqual(['b1', 'a1 again', 'b2', 'a2']);
  });

  test('a client that may not come keeps its place', () => {
    const queue = queueOf(['a1', 'b1', 'a2', 'b2']);
    expect(queue.take((client) => client !== 'a')).toBe('b1');
    expect(queue.take(() => false)).toBeUndefined();
    expect(takeAll(queue)).toEqual(['a1', 'b2', 'a2']);
  });

  test('an item that is removed leaves nothing behind, and one that is not there neither', () => {
    const queue = queueOf(['a1', 'b1', 'b2']);
    queue.remove('a', 'a1');
    queue.remove('b', 'b2');
    queue.remove('b', 'b3');
    queue.remove('c', 'c1');
    expect(takeAll(queue)).toEqual(['b1']);
  });
});
