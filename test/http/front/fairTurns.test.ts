import { expect, test } from 'bun:test';

import { TURN_MS, FairTurns } from '../../../src/http/front/fairTurns.ts';

/** Clients that have so many requests, each of which takes so long; and the passes of an event loop. */
class Loop {
  nowMs = 0;
  readonly done: string[] = [];
  readonly #next: (() => void)[] = [];
  readonly turns = new FairTurns(
    () => this.nowMs,
    (work) => this.#next.push(work),
  );

  /** As a connection does: the first one is free, all others need a turn. */
  arrive(name: string, count: number, milliseconds: number): void {
    let left = count;
    const goOn = (): void => {
      for (let isFree = true; left > 0; isFree = false) {
        if (!isFree && !this.turns.mayGoOn()) return this.turns.waitForTurn({ goOn });
        left--;
        this.done.push(name);
        this.nowMs += milliseconds;
      }
    };
    goOn();
  }

  /** One pass; answers how long it took. */
  pass(): number {
    const startedAtMs = this.nowMs;
    for (const work of this.#next.splice(0)) work();
    return this.nowMs - startedAtMs;
  }

  get isIdle(): boolean {
    return this.#next.length === 0;
  }
}

test('one client with very many requests has TURN_MS of them answered, then others are seen to', () => {
  const loop = new Loop();
  loop.arrive('a', 1000, 0.5);
  // The first is free, then the time of a turn.
  expect(loop.done.length).toBe(1 + TURN_MS / 0.5);
  const passes: number[] = [];
  while (!loop.isIdle) passes.push(loop.pass());
  expect(loop.done.length).toBe(1000);
  expect(Math.max(...passes)).toBe(TURN_MS);
});

test('many such clients share a turn: a pass takes no longer with a hundred of them', () => {
  const loop = new Loop();
  for (let i = 0; i < 100; i++) loop.arrive(`${i}`, 20, 0.5);
  // In the pass in which all came, each had one for free.
  expect(loop.done.length).toBe(100 + TURN_MS / 0.5);
  const passes: number[] = [];
  while (!loop.isIdle) passes.push(loop.pass());
  expect(loop.done.length).toBe(2000);
  expect(Math.max(...passes)).toBe(TURN_MS);
});

test('clients take turns: nobody has a second one before everyone who waits had one', () => {
  const loop = new Loop();
  // Each request takes a whole turn.
  for (const name of ['a', 'b', 'c']) loop.arrive(name, 4, TURN_MS);
  while (!loop.isIdle) loop.pass();
  expect(loop.done.join('')).toBe('aabcabcabcbc');
});

test('a request that takes longer than a turn is followed by everyone else', () => {
  const loop = new Loop();
  loop.arrive('a', 3, 50);
  expect(loop.done).toEqual(['a', 'a']);
  expect([loop.pass(), loop.done.length]).toEqual([50, 3]);
});

test('one request at a time needs no turn, and no pass is asked for', () => {
  const loop = new Loop();
  loop.arrive('a', 1, 5);
  expect(loop.isIdle).toBe(true);
});
