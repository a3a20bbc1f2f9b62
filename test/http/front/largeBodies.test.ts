import { describe, expect, test } from 'bun:test';

import {
  LargeBodies,
  type LargeBody,
  MAX_ARRIVING,
  MAX_BYTES_PER_PASS,
  MAX_HELD,
  MAX_TIMES,
  MIN_BYTES,
} from '../../../src/http/front/requestBody.ts';
import { MemoryBudget, OWN_BYTES } from '../../../src/http/front/frontLimits.ts';

/** Bodies by name, and which of their connections receive. */
class Arrivals {
  readonly receiving = new Set<string>();
  readonly #timers: (() => void)[] = [];
  readonly #passes: (() => void)[] = [];
  readonly #bodies = new LargeBodies({
    after: (_milliseconds, work) => this.#timers.push(work),
    afterOthers: (work) => this.#passes.push(work),
  });

  begin(name: string, client = name): LargeBody {
    this.receiving.add(name);
    return this.#bodies.begin(client, {
      pause: () => this.receiving.delete(name),
      resume: () => this.receiving.add(name),
    });
  }

  many(count: number, client: string): LargeBody[] {
    return Array.from({ length: count }, (_, i) => this.begin(`${client}${i}`, client));
  }

  /** SILENT_MS go by. */
  time(): void {
    for (const work of this.#timers.splice(0)) work();
  }

  /** The end of a pass of the event loop. */
  pass(): void {
    for (const work of this.#passes.splice(0)) work();
  }

  get isWatching(): boolean {
    return this.#timers.length > 0;
  }
}

describe('large bodies', () => {
  test('arrive at once while they are few, and nothing is watched', () => {
    const arrivals = new Arrivals();
    arrivals.many(MAX_ARRIVING, 'a');
    expect([arrivals.receiving.size, arrivals.isWatching]).toEqual([MAX_ARRIVING, false]);
  });

  test('so many arrive at a time, and the next one when one has arrived or is over', () => {
    const arrivals = new Arrivals();
    const bodies = arrivals.many(MAX_ARRIVING + 3, 'a');
    expect(arrivals.receiving.size).toBe(MAX_ARRIVING);
    bodies[0]?.hold();
    expect(arrivals.receiving.has(`a${MAX_ARRIVING}`)).toBe(true);
    bodies[1]?.end();
    expect(arrivals.receiving.has(`a${MAX_ARRIVING + 1}`)).toBe(true);
    // One that leaves before it was its turn takes nobody's place.
    bodies[MAX_ARRIVING + 2]?.end();
    bodies[2]?.end();
    expect(arrivals.receiving.has(`a${MAX_ARRIVING + 2}`)).toBe(false);
  });

  test('clients take turns: one with hundreds of bodies holds up no other', () => {
    const arrivals = new Arrivals();
    const crowd = arrivals.many(256, 'crowd');
    arrivals.begin('other');
    crowd[0]?.end();
    crowd[1]?.end();
    expect(arrivals.receiving.has('other')).toBe(true);
  });

  test('one that sends nothing, or for long, gives its place to others while there are any', () => {
    const arrivals = new Arrivals();
    const [, ...others] = arrivals.many(MAX_ARRIVING, 'slow');
    arrivals.begin('next');
    for (const body of others) body.received(MIN_BYTES);
    arrivals.time();
    // Whoever has sent something stays.
    expect([arrivals.receiving.has('slow0'), arrivals.receiving.has('next')]).toEqual([false, true]);
    for (let i = 0; i < MAX_TIMES; i++) {
      for (const body of others) body.received(MIN_BYTES);
      arrivals.time();
    }
    expect(arrivals.receiving.has('slow0')).toBe(true);
  });

  test('of one client so many are held, then its other ones wait, and those of others do not', () => {
    const arrivals = new Arrivals();
    const bodies = arrivals.many(MAX_ARRIVING + MAX_HELD, 'a');
    const inState = (state: LargeBody['state']): number => bodies.filter((body) => body.state === state).length;
    for (const body of bodies.slice(0, MAX_ARRIVING)) body.hold();
    // Those that were on their way already are held, too. The last place stays free.
    expect([inState('held'), inState('arriving'), inState('waiting')]).toEqual([MAX_ARRIVING, MAX_HELD - 1, 1]);
    expect(arrivals.begin('b').state).toBe('arriving');
    for (const body of bodies.slice(0, MAX_ARRIVING - MAX_HELD)) body.end();
    expect([inState('held'), inState('waiting')]).toEqual([MAX_HELD, 1]);
    bodies[MAX_ARRIVING - 1]?.end();
    expect([inState('held'), inState('waiting')]).toEqual([MAX_HELD - 1, 0]);
  });

  test('after so many bytes in a pass nothing more is received, and in the next one it goes on', () => {
    const arrivals = new Arrivals();
    const [first, second] = arrivals.many(3, 'a') as [LargeBody, LargeBody];
    first.received(MAX_BYTES_PER_PASS - 1);
    expect(arrivals.receiving.size).toBe(3);
    second.received(1);
    expect([arrivals.receiving.size, first.isPaused]).toEqual([0, true]);
    // One that begins now waits for the next pass, too.
    expect(arrivals.begin('b').isPaused).toBe(true);
    arrivals.pass();
    expect([...arrivals.receiving].toSorted()).toEqual(['a0', 'a1', 'a2', 'b']);
    first.received(MAX_BYTES_PER_PASS - 1);
    expect(arrivals.receiving.size).toBe(4);
  });

  test('one that could not arrive is known from one that could and did not', () => {
    const arrivals = new Arrivals();
    const bodies = arrivals.many(MAX_ARRIVING + 1, 'a');
    const last = bodies.at(-1) as LargeBody;
    expect([last.state, last.hadItsChance]).toEqual(['waiting', false]);
    bodies[0]?.end();
    expect([last.state, last.hadItsChance]).toEqual(['arriving', true]);
    last.received(MIN_BYTES);
    expect(last.hadItsChance).toBe(false);
  });

  test('one that trickles gives its place away, and had its chance', () => {
    const arrivals = new Arrivals();
    const [first, ...others] = arrivals.many(MAX_ARRIVING, 'a') as [LargeBody, ...LargeBody[]];
    arrivals.begin('next');
    for (const body of others) body.received(MIN_BYTES);
    for (let i = 1; i < MIN_BYTES; i++) first.received(1);
    arrivals.time();
    expect([first.state, first.hadItsChance, arrivals.receiving.has('next')]).toEqual(['waiting', true, true]);
  });

  test('take memory from when they are held until they are over, once', () => {
    const memory = new MemoryBudget(1_000_000);
    const body = new Arrivals().begin('a');
    body.hold();
    body.take(300_000, memory);
    expect(memory.left).toBe(1_000_000 - (300_000 - OWN_BYTES));
    body.end();
    body.end();
    expect(memory.left).toBe(1_000_000);
    const large = new Arrivals().begin('b');
    expect(() => large.take(2_000_000, memory)).toThrow('no memory left');
    large.end();
    expect(memory.left).toBe(1_000_000);
  });
});
