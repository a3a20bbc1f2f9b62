import { describe, expect, spyOn, test } from 'bun:test';

import { MAX_JSON_NAMES, MAX_JSON_VALUES } from '../../../src/core/bounds.ts';
import { JsonNames, NOISE_NUMBERS, readJson, readJsonInSteps } from '../../../src/http/request/json.ts';

const noise = Uint32Array.from({ length: NOISE_NUMBERS }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
const read = (text: string): unknown => readJson(new TextEncoder().encode(text), noise);
const namesUpTo = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`name${i}`, i]));

describe('readJson', () => {
  test('700 different names are read, wherever they stand and however often, and one more is refused', () => {
    const names = namesUpTo(MAX_JSON_NAMES);
    const [first, ...others] = Object.keys(names);
    const value = [names, names, { [first ?? '']: Object.fromEntries(others.map((name) => [name, 1])) }];
    expect(read(JSON.stringify(value))).toEqual(value);
    expect(() => read(JSON.stringify([names, { another: 1 }]))).toThrow(
      'The body has more than 700 different member names. Send it in smaller parts.',
    );
  });

  test('200,000 values are read, at all depths together, and one more is refused', () => {
    // The list, and each list in it with its number.
    const text = (values: number): string => `[${'[1],'.repeat((values - 2) / 2)}0]`;
    expect(read(text(MAX_JSON_VALUES))).toBeArrayOfSize(MAX_JSON_VALUES / 2);
    expect(() => read(`[${text(MAX_JSON_VALUES)}]`)).toThrow(
      'The body has more than 200000 values. Send it in smaller parts.',
    );
  });

  test('never asks JSON.parse, in whose tables texts can be made to fall into one place', () => {
    const parse = spyOn(JSON, 'parse');
    try {
      expect(read('{"a":["b","\\u0063",1.5,true,null,{"__proto__":{}}]}')).toBeObject();
      expect(parse).toHaveBeenCalledTimes(0);
    } finally {
      parse.mockRestore();
    }
  });

  test('passes over a byte order mark', () => {
    expect(read('\ufeff{"a":1}')).toEqual({ a: 1 });
  });
});

describe('in steps', () => {
  const inSteps = async (text: string, giveWay: () => Promise<void> | null) =>
    readJsonInSteps(new TextEncoder().encode(text), noise, giveWay);

  test('the same is read, wherever it gives way', async () => {
    const value = [
      ...Array.from({ length: 700 }, (_, i) =>
        i % 2 === 0 ? i : { n: i, list: [i, [], {}, 'x', [null, { a: true }]] },
      ),
      { a: { b: { c: [[[1]]] } } },
    ];
    let asked = 0;
    const giveWay = () => (++asked % 2 === 0 ? null : Promise.resolve());
    expect(await inSteps(JSON.stringify(value), giveWay)).toEqual(value);
    expect(asked).toBeGreaterThan(10);
  });

  test('it is asked for each few hundred values, however they are nested', async () => {
    for (const text of [
      `[${'1,'.repeat(100_000)}1]`,
      `[${'[[[[]]]],'.repeat(25_000)}1]`,
      `[${'{"a":1},'.repeat(50_000)}1]`,
    ]) {
      let asked = 0;
      await inSteps(text, () => {
        asked++;
        return null;
      });
      expect(asked).toBe(Math.floor(100_002 / 256));
    }
  });

  test('what is wrong is refused in the same words, also behind a pause', async () => {
    for (const [end, message] of [
      ['1', 'The body is not valid JSON.'],
      ['{"a":1,"a":2}]', 'The member "a" appears twice in one object.'],
      ['['.repeat(40), 'The body is nested more than 32 levels deep.'],
    ] as const) {
      const failure: unknown = await inSteps(`[${'0,'.repeat(1000)}${end}`, () => Promise.resolve()).catch(
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({ code: 'BAD_REQUEST', message });
    }
  });
});

/** Bytes that count how often one of them is looked at. */
function countedBytes(text: string): { bytes: Uint8Array; reads: () => number } {
  let reads = 0;
  const bytes = new Proxy(new TextEncoder().encode(text), {
    get(target, property) {
      reads++;
      return target[Number(property)];
    },
  });
  return { bytes, reads: () => reads };
}

describe('JsonNames', () => {
  test('a name is read once to be looked for, and compared with one other at the most, however many there are', () => {
    const length = 8;
    const all = Array.from({ length: MAX_JSON_NAMES }, (_, i) => String(i).padStart(length, 'n'));
    const { bytes, reads } = countedBytes(all.join('') + all.join(''));
    const names = new JsonNames(bytes, noise);
    for (const [i, name] of all.entries()) {
      expect(names.find(i * length, (i + 1) * length)).toBeNull();
      names.add(i * length, (i + 1) * length, name, false);
    }
    // To look for it, and once more to put it down.
    expect(reads()).toBe(2 * all.length * length);
    for (const [i, name] of all.entries()) {
      const from = (all.length + i) * length;
      expect(names.find(from, from + length)?.text).toBe(name);
    }
    // To look for it, and both to compare them.
    expect(reads()).toBe((2 + 3) * all.length * length);
  });

  test('two names of the same hash are told apart', () => {
    // Without noise all names of one length have the same.
    const text = 'aabbab';
    const names = new JsonNames(new TextEncoder().encode(text), new Uint32Array(NOISE_NUMBERS));
    expect(names.add(0, 2, 'aa', false).text).toBe('aa');
    expect(names.find(2, 4)).toBeNull();
    expect(names.add(2, 4, 'bb', false).text).toBe('bb');
    expect([names.find(0, 2)?.text, names.find(2, 4)?.text, names.find(4, 6)]).toEqual(['aa', 'bb', null]);
  });
});
