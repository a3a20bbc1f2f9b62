import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import {
  ChunkedBody,
  LargeBodies,
  type LargeBody,
  MAX_ARRIVING,
  MAX_BYTES_PER_PASS,
  MAX_HELD,
  MAX_TIMES,
  MIN_BYTES,
} from '../../../src/http/front/requestBody.ts';
import { ByteBuffer } from '../../../src/http/front/byteBuffer.ts';
import { MemoryBudget, OWN_BYTES } from '../../../src/http/front/frontLimits.ts';

/** Reads what comes in these pieces: the body, what is left behind it, or null where more has to come. */
function read(pieces: readonly string[], maxBytes = 100): { body: string; rest: string; isTooLong: boolean } | null {
  const [body, from] = [new ChunkedBody(maxBytes, new MemoryBudget()), new ByteBuffer(new MemoryBudget())];
  let isDone = false;
  for (const piece of pieces) {
    if (piece !== '') from.add(Buffer.from(piece, 'latin1'));
    isDone ||= body.read(from);
    from.keep();
  }
  const rest = from.bytes.toString('latin1', from.start, from.end);
  return isDone ? { body: body.bytes.toString('latin1'), rest, isTooLong: body.isTooLong } : null;
}

const whole = (body: string, rest = '') => ({ body, rest, isTooLong: false });

describe('a chunked body', () => {
  test.each([
    ['of one chunk', '2\r\nhi\r\n0\r\n\r\n', whole('hi')],
    ['of none', '0\r\n\r\n', whole('')],
    ['of several', '2\r\nhi\r\n0A\r\n0123456789\r\n0\r\n\r\n', whole('hi0123456789')],
    ['with zeros before sizes', '0000000000000002\r\nhi\r\n000\r\n\r\n', whole('hi')],
    ['with extensions', '2;a=b;c\r\nhi\r\n0;d\r\n\r\n', whole('hi')],
    ['with trailers', '2\r\nhi\r\n0\r\nX-A: b\r\nContent-Length: 5\r\n\r\n', whole('hi')],
    ['with the next request behind it', '2\r\nhi\r\n0\r\n\r\nGET /', whole('hi', 'GET /')],
    ['with line ends inside', '4\r\n\r\n\r\n\r\n0\r\n\r\n', whole('\r\n\r\n')],
  ])('%s is read, cut at any byte, and byte by byte', (_name, text, expected) => {
    for (let cut = 0; cut <= text.length; cut++) expect(read([text.slice(0, cut), text.slice(cut)])).toEqual(expected);
    expect(read(text.split(''))).toEqual(expected);
    const end = text.length - expected.rest.length;
    for (let cut = 0; cut < end; cut++) expect(read([text.slice(0, cut)])).toBeNull();
  });

  test.each([
    ['0x2\r\nhi\r\n0\r\n\r\n'],
    ['+2\r\nhi\r\n0\r\n\r\n'],
    ['-2\r\nhi\r\n0\r\n\r\n'],
    ['2 \r\nhi\r\n0\r\n\r\n'],
    [' 2\r\nhi\r\n0\r\n\r\n'],
    ['2,2\r\nhi\r\n0\r\n\r\n'],
    ['\r\nhi\r\n0\r\n\r\n'],
    ['g\r\nhi\r\n0\r\n\r\n'],
    ['00000000000000002\r\nhi\r\n0\r\n\r\n'],
    ['2\nhi\r\n0\r\n\r\n'],
    ['\n'],
    ['2\r\nhi\n0\r\n\r\n'],
    ['2\r\nhi!\r\n0\r\n\r\n'],
    ['2\r\nhixx0\r\n\r\n'],
    ['2\r\nhi\r\n\r\n0\r\n\r\n'],
    ['2;a="b"\r\nhi\r\n0\r\n\r\n'],
    ['2;a b\r\nhi\r\n0\r\n\r\n'],
    [`2;${'a'.repeat(255)}\r\nhi\r\n0\r\n\r\n`],
    ['2'.repeat(300)],
    ['2\r\nhi\r\n0\r\nno trailer\r\n\r\n'],
    ['2\r\nhi\r\n0\r\n X: a\r\n\r\n'],
    ['2\r\nhi\r\n0\r\nX: a\n\r\n'],
    [`2\r\nhi\r\n0\r\n${`X-A: ${'a'.repeat(100)}\r\n`.repeat(41)}\r\n`],
  ])('%j is refused, at once and byte by byte', (text) => {
    for (const pieces of [[text], text.split('')]) {
      expect(() => read(pieces)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }) as Error);
    }
  });

  test('that is too long is read one byte past the bound, and its end is not waited for', () => {
    expect(read(['64\r\n', 'a'.repeat(100), '\r\n0\r\n\r\n'])).toEqual(whole('a'.repeat(100)));
    const tooLong = (rest: string) => ({ body: 'a'.repeat(101), rest, isTooLong: true });
    expect(read(['ffffffffffffffff\r\n', 'a'.repeat(100)])).toBeNull();
    expect(read(['ffffffffffffffff\r\n', 'a'.repeat(105)])).toEqual(tooLong('aaaa'));
    expect(read(['64\r\n', 'a'.repeat(100), '\r\n5\r\nab'])).toEqual(tooLong('b'));
  });

  test('in very short chunks is refused early, and no byte behind that is read', () => {
    const [body, from] = [new ChunkedBody(1 << 22, new MemoryBudget()), new ByteBuffer(new MemoryBudget())];
    from.add(Buffer.from('1\r\na\r\n'.repeat(100_000)));
    expect(() => body.read(from)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }) as Error);
    // 5 bytes of framing for each byte: past 16 KiB and twice the data with the size of chunk 5462.
    expect([body.length, from.start]).toEqual([5461, 5461 * 6 + 3]);
  });

  test.each([
    ['1\r\na\r\n', 5460, true],
    ['1\r\na\r\n', 5461, false],
    ['2;a=b\r\naa\r\n', 3277, false],
    [`1;${'a'.repeat(254)}\r\na\r\n`, 100, false],
    ['10\r\naaaaaaaaaaaaaaaa\r\n', 50_000, true],
    ['0000000000000010\r\naaaaaaaaaaaaaaaa\r\n', 50_000, true],
  ])('%j in a row, %d times: is taken, %p', (chunk, times, isTaken) => {
    const taken = () => read([`${chunk.repeat(times)}0\r\n\r\n`], 1 << 22)?.isTooLong;
    if (isTaken) expect(taken()).toBe(false);
    else expect(taken).toThrow('too many short chunks');
  });

  test('gives back what it takes from the memory budget', () => {
    const memory = new MemoryBudget(1 << 21);
    const [body, from] = [new ChunkedBody(1 << 20, memory), new ByteBuffer(new MemoryBudget())];
    from.add(Buffer.from(`80000\r\n${'a'.repeat(500_000)}`));
    expect([body.read(from), body.keep()]).toEqual([false, true]);
    expect(memory.left).toBeLessThan((1 << 21) - 400_000);
    body.clear();
    expect(memory.left).toBe(1 << 21);
  });

  test('of any content, in any chunks and any pieces, is what was sent', () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 10 });
    fc.assert(
      fc.property(chunks, fc.array(fc.nat(20)), (parts, cuts) => {
        const told = parts.map((part) => {
          const data = Buffer.from(part).toString('latin1');
          return `${data.length.toString(16)}\r\n${data}\r\n`;
        });
        let rest = `${told.join('')}0\r\n\r\nnext`;
        const pieces = cuts.map((cut) => {
          const piece = rest.slice(0, cut);
          rest = rest.slice(cut);
          return piece;
        });
        expect(read([...pieces, rest], 1000)).toEqual(whole(Buffer.concat(parts).toString('latin1'), 'next'));
      }),
    );
  });
});

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
