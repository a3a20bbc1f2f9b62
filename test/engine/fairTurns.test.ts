import { describe, expect, test } from 'bun:test';

import { PIECE_MS, TURN_MS, Turns } from '../../src/engine/fairTurns.ts';

/** Clients that have so many requests, each of which takes so long; and the passes of an event loop. */
class Loop {
  nowMs = 0;
  readonly done: string[] = [];
  readonly #next: (() => void)[] = [];
  readonly turns = new Turns(
    () => this.nowMs,
    (work) => this.#next.push(work),
  );

  /** As a connection does, with requests that are answered at once. */
  arrive(name: string, count: number, milliseconds: number, client = name): void {
    const left = Array.from({ length: count });
    const goOn = (): boolean => {
      do {
        left.pop();
        this.done.push(name);
        this.nowMs += milliseconds;
      } while (left.length > 0 && this.turns.mayGoOn());
      if (left.length > 0) this.turns.waitForTurn(client, { goOn });
      return true;
    };
    if (this.turns.mayGoOn()) goOn();
    else this.turns.waitForTurn(client, { goOn });
  }

  /** A large request of so many steps, each of which takes so long. */
  async work(name: string, steps: number, milliseconds: number, client = name): Promise<void> {
    await this.turns.wait(client);
    await this.turns.each(client, Array.from({ length: steps }), () => {
      this.done.push(name);
      this.nowMs += milliseconds;
    });
  }

  /** One pass; answers how long it took. */
  async pass(): Promise<number> {
    const startedAtMs = this.nowMs;
    for (const work of this.#next.splice(0)) work();
    for (let i = 0; i < 1000; i++) await Promise.resolve();
    return this.nowMs - startedAtMs;
  }

  /** How long each pass took until nothing is left to do. */
  async passes(): Promise<number[]> {
    const took: number[] = [];
    while (this.#next.length > 0) took.push(await this.pass());
    return took;
  }

  get isIdle(): boolean {
    return this.#next.length === 0;
  }
}

/** In which order the names first stand. */
const firsts = (done: readonly string[]): string[] => [...new Set(done)];

describe('requests that share turns', () => {
  test('one client with very many has TURN_MS of them answered, then others are seen to', async () => {
    const loop = new Loop();
    loop.arrive('a', 1000, 0.5);
    expect(loop.done.length).toBe(TURN_MS / 0.5);
    const passes = await loop.passes();
    expect(loop.done.length).toBe(1000);
    expect(Math.max(...passes)).toBe(TURN_MS);
  });

  test('with a hundred such clients a pass takes no longer', async () => {
    const loop = new Loop();
    for (let i = 0; i < 100; i++) loop.arrive(`${i}`, 20, 0.5);
    expect(loop.done.length).toBe(TURN_MS / 0.5);
    const passes = await loop.passes();
    expect(loop.done.length).toBe(2000);
    expect(Math.max(...passes)).toBe(TURN_MS);
  });

  test('nobody has a second one before everyone who waits had one', async () => {
    const loop = new Loop();
    // Each request takes a whole turn.
    for (const name of ['a', 'b', 'c']) loop.arrive(name, 4, TURN_MS);
    await loop.passes();
    // The first one waits for its second before the others have come.
    expect(loop.done.join('')).toBe('aabcabcabcbc');
  });

  test('a client with a hundred connections has the share of one', async () => {
    const loop = new Loop();
    for (let i = 0; i < 100; i++) loop.arrive('a', 5, 1, 'crowd');
    loop.arrive('b', 3, 1);
    while (loop.done.filter((name) => name === 'b').length < 3) await loop.pass();
    // One turn before it came, then one request of the crowd before each of its own, and the rest of the third turn.
    expect([loop.done.length, loop.done.lastIndexOf('b')]).toEqual([3 * TURN_MS, TURN_MS + 2 * 3 - 1]);
  });

  test('a request that takes longer than a turn is followed by everyone else', async () => {
    const loop = new Loop();
    loop.arrive('a', 3, 50);
    expect(loop.done).toEqual(['a']);
    expect([await loop.pass(), loop.done.length]).toEqual([50, 2]);
  });

  test('one that goes on in promises is waited for: what it takes is part of the turn', async () => {
    const loop = new Loop();
    loop.arrive('first', 1, TURN_MS);
    const later = {
      goOn() {
        void (async () => {
          for (let i = 0; i < 30; i++) await Promise.resolve();
          loop.done.push('later');
          loop.nowMs += TURN_MS / 2;
        })();
        return false;
      },
    };
    for (let i = 0; i < 5; i++) loop.turns.waitForTurn('a', later);
    const seen: number[] = [];
    while (!loop.isIdle) {
      await loop.pass();
      seen.push(loop.done.length);
    }
    expect(seen).toEqual([3, 5, 6, 6]);
  });
});

describe('work on large requests', () => {
  test('waits for the end of the pass, and is done one piece in a pass', async () => {
    const loop = new Loop();
    const all = [loop.work('a', 25, 1), loop.work('b', 5, 1)];
    expect(loop.done).toEqual([]);
    expect(await loop.pass()).toBe(PIECE_MS);
    expect(await loop.pass()).toBe(5);
    expect(await loop.passes()).toEqual([PIECE_MS, 5, 0]);
    expect(loop.done.join('')).toBe(`${'a'.repeat(10)}bbbbb${'a'.repeat(15)}`);
    await Promise.all(all);
  });

  test('however many clients and requests there are, a pass is one piece long, and clients take turns', async () => {
    const loop = new Loop();
    const all = Array.from({ length: 256 }, (_, i) => loop.work(`crowd ${i}`, 30, 1, 'crowd'));
    all.push(loop.work('other', 30, 1));
    const passes: number[] = [];
    while (!loop.isIdle && !(loop.done.filter((name) => name === 'other').length === 30))
      passes.push(await loop.pass());
    expect(Math.max(...passes)).toBe(PIECE_MS);
    // Its three pieces, and as many of the crowd.
    expect(passes.length).toBe(6);
    expect(firsts(loop.done)).toEqual(['crowd 0', 'other']);
    await loop.passes();
    await Promise.all(all);
    expect(loop.done.length).toBe(257 * 30);
  });

  test('a client ends what it has begun before it begins more, so that one body of it at a time is taken apart', async () => {
    const loop = new Loop();
    const all = ['a', 'b', 'c'].map((name) => loop.work(name, 30, 1, 'crowd'));
    await loop.passes();
    await Promise.all(all);
    expect(loop.done.join('')).toBe('a'.repeat(30) + 'b'.repeat(30) + 'c'.repeat(30));
  });

  test('small requests go first, and have their time beside it', async () => {
    const loop = new Loop();
    const work = loop.work('large', 100, 1);
    await loop.pass();
    for (let i = 0; i < 3; i++) {
      // What arrives has its turn, what waits has its own, then a piece is done.
      loop.arrive('small', (2 * TURN_MS) / 0.5, 0.5, `${i}`);
      expect(await loop.pass()).toBe(TURN_MS + PIECE_MS);
    }
    expect(loop.done.filter((name) => name === 'small').length).toBe((3 * 2 * TURN_MS) / 0.5);
    await loop.passes();
    await work;
  });

  test('a client that leaves is not waited for, and its request is not worked on', async () => {
    const loop = new Loop();
    const leaving = new AbortController();
    const failed = loop.turns.wait('a', leaving.signal).catch((error: unknown) => error);
    const other = loop.work('b', 1, 1);
    leaving.abort();
    expect(await failed).toMatchObject({
      code: 'BAD_REQUEST',
      message: 'The client has left before it was the turn of its request.',
    });
    await loop.pass();
    expect(loop.done).toEqual(['b']);
    await other;
    const gone = await loop.turns.wait('a', leaving.signal).catch((error: unknown) => error);
    expect(gone).toMatchObject({ code: 'BAD_REQUEST' });
    await loop.passes();
    expect(loop.isIdle).toBe(true);
  });

  test('a step that answers false is the last one', async () => {
    const loop = new Loop();
    const seen: number[] = [];
    await loop.turns.each('a', [1, 2, 3], async (item) => {
      seen.push(item);
      return item < 2;
    });
    expect(seen).toEqual([1, 2]);
  });

  test('work that has waited for something else is measured too', async () => {
    const loop = new Loop();
    // It has had its turn long ago, and goes on in the middle of a pass.
    expect(loop.turns.giveWay('a')).toBeNull();
    loop.nowMs += PIECE_MS;
    const pause = loop.turns.giveWay('a');
    expect(pause).toBeInstanceOf(Promise);
    await loop.passes();
    await pause;
  });
});
