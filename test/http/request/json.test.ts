import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { AppError } from '../../../src/core/errors.ts';
import { NOISE_NUMBERS, parseJson, readJson } from '../../../src/http/request/json.ts';

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
