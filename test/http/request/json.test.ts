import { describe, expect, test, spyOn } from 'bun:test';

import * as fc from 'fast-check';

import { AppError } from '../../../src/core/errors.ts';
import { NOISE_NUMBERS, parseJson, readJson, JsonNames, readJsonInSteps } from '../../../src/http/request/json.ts';
import { MAX_JSON_NAMES, MAX_JSON_VALUES } from '../../../src/core/bounds.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

const noise = Uint32Array.from({ length: NOISE_NUMBERS }, (_, i) => Math.imul(i + 1, 0x9e3779b1));

type Read = (text: string) => unknown;

/** That of small bodies, and that of all others. */
const READERS: readonly (readonly [name: string, read: Read])[] = [
  ['parseJson', parseJson],
  ['readJson', (text) => readJson(new TextEncoder().encode(text), noise)],
];

/** The message of the refusal; every refusal is a BAD_REQUEST. */
function refusalOf(read: Read, text: string): string {
  try {
    read(text);
  } catch (error) {
    if (error instanceof AppError && error.code === 'BAD_REQUEST') return error.message;
    throw error;
  }
  throw new Error('it was read');
}

describe.each(READERS)('%s', (_name, read) => {
  const problemOf = (text: string): string => refusalOf(read, text);

  test('reads what JSON.parse reads, when no member stands twice', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(read(text)).toEqual(JSON.parse(text) as never);
      }),
      { seed, numRuns: 1000 },
    );
  });

  test('32 levels are read, 33 are refused, in objects, lists and both', () => {
    const nested = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);
    expect(read(nested('[', ']', 32))).toBeArray();
    expect(problemOf(nested('[', ']', 33))).toBe('The body is nested more than 32 levels deep.');
    const object = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(read(object(32))).toBeObject();
    expect(problemOf(object(33))).toBe('The body is nested more than 32 levels deep.');
    expect(problemOf(`${'[{"a":'.repeat(17)}1${'}]'.repeat(17)}`)).toBe('The body is nested more than 32 levels deep.');
    expect(problemOf('['.repeat(1_000_000))).toBe('The body is nested more than 32 levels deep.');
  });

  test('depth is what is open at one time: many shallow values, and brackets in strings, do not count', () => {
    expect(read(`[${Array.from({ length: 100 }, () => '[]').join(',')}]`)).toBeArray();
    expect(read(JSON.stringify({ a: '['.repeat(100), '{{': '\\"[[' }))).toEqual({
      a: '['.repeat(100),
      '{{': '\\"[[',
    });
  });

  test.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"\\u0061":1,"a":2}', 'a'],
    ['{"a\\/b":1,"a/b":2}', 'a/b'],
    ['{"b":{"a":1 , "a" : 1}}', 'a'],
    ['[{"a":1},{"c":[],"c":[]}]', 'c'],
    ['{"":1,"":2}', ''],
    ['{"a":{"a":1},"a":1}', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"a\\"":1,"a\\"":2}', 'a"'],
    ['{"b":1,"\\u0061":1,"c":{"a":1},"a":2}', 'a'],
    ['{"\\u0061":1,"\\u0061":2}', 'a'],
    ['{"\\u006a":1,"\\u006A":2}', 'j'],
    ['[{"\\u0061":1},{"a":1,"\\u0061":2}]', 'a'],
  ])('%s: a member that stands twice is refused, however it is spelt', (text, name) => {
    expect(problemOf(text)).toBe(`The member ${JSON.stringify(name)} appears twice in one object.`);
  });

  test('the same name in two objects, and as a value, is no repetition', () => {
    for (const text of [
      '[{"a":1},{"a":2}]',
      '{"a":{"a":{"a":1}}}',
      '{"a":"a","b":"a"}',
      '["a","a"]',
      '{"a":["b","b"]}',
    ]) {
      expect(read(text)).toEqual(JSON.parse(text) as never);
    }
  });

  test.each([
    ['{'],
    ['{"a":1'],
    ['{"a":1,}'],
    ["{'a':1}"],
    ['{a:1}'],
    ['[1,]'],
    ['01'],
    ['+1'],
    ['.5'],
    ['NaN'],
    ['Infinity'],
    ['"abc'],
    ['"a\nb"'],
    ['"\\x41"'],
    ['{} {}'],
    ['{}x'],
    [']'],
    ['{"a":1}]'],
    ['// comment\n{}'],
    ['"\\'],
    ['{"a\\":1}'],
  ])('%j is malformed, and the message does not repeat it', (text) => {
    expect(problemOf(text)).toBe('The body is not valid JSON.');
  });

  test('nothing, and nothing but space, is told to be empty', () => {
    for (const text of ['', ' ', '\n\t ']) expect(problemOf(text)).toBe('The body is empty. Send a JSON object.');
  });

  test('`__proto__` is data: it changes no prototype', () => {
    const value = read('{"__proto__":{"isAdmin":true}}') as Record<string, unknown>;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(value['isAdmin']).toBeUndefined();
  });
});

describe('texts', () => {
  test('both read every text as JSON.parse does, escaped or not', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text).slice(1, -1)),
      fc.constantFrom(
        '\\n',
        '\\"',
        '\\\\',
        '\\/',
        '\\u0041',
        '\\uD83D\\uDE00',
        '\\ud800',
        '\\udC00',
        '\\u0000',
        'é',
        '😀',
        '中',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const inside = pieces.join('');
        for (const text of [`"${inside}"`, `{"${inside}":["${inside}"]}`]) {
          for (const [, read] of READERS) expect(read(text)).toEqual(JSON.parse(text) as never);
        }
      }),
      { seed, numRuns: 1000 },
    );
  });

  test.each([
    ['-0'],
    ['0'],
    ['-1'],
    ['1e400'],
    ['9007199254740993'],
    ['123456789012345'],
    ['1.5E+3'],
    ['-1e-2'],
    ['0.1'],
  ])('both read %s as JSON.parse does', (text) => {
    for (const [, read] of READERS) expect(Object.is(read(text), JSON.parse(text))).toBe(true);
  });

  test.each([
    ['1.'],
    ['-'],
    ['1e'],
    ['1e+'],
    ['--1'],
    ['00'],
    ['-01'],
    ['tru'],
    ['nul'],
    ['truex'],
    ['"\\u12"'],
    ['"\\u12g4"'],
    ['{"a"}'],
    ['{"a":}'],
    ['{,}'],
    ['[,]'],
    ['{"a":1 "b":2}'],
  ])('both refuse %s', (text) => {
    for (const [, read] of READERS) expect(refusalOf(read, text)).toBe('The body is not valid JSON.');
  });
});

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
