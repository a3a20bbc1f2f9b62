import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { AppError } from '../../src/core/errors.ts';
import { parseJson } from '../../src/http/json.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

/** The message of the refusal; every refusal is a BAD_REQUEST. */
function problemOf(text: string): string {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof AppError && error.code === 'BAD_REQUEST') return error.message;
    throw error;
  }
  throw new Error('it was read');
}

describe('parseJson', () => {
  test('reads what JSON.parse reads, when no member stands twice', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text) as never);
      }),
      { seed, numRuns: 1000 },
    );
  });

  test('32 levels are read, 33 are refused, in objects, lists and both', () => {
    const nested = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);
    expect(parseJson(nested('[', ']', 32))).toBeArray();
    expect(problemOf(nested('[', ']', 33))).toBe('The body nests deeper than 32 levels.');
    const object = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(parseJson(object(32))).toBeObject();
    expect(problemOf(object(33))).toBe('The body nests deeper than 32 levels.');
    expect(problemOf(`${'[{"a":'.repeat(17)}1${'}]'.repeat(17)}`)).toBe('The body nests deeper than 32 levels.');
    expect(problemOf('['.repeat(1_000_000))).toBe('The body nests deeper than 32 levels.');
  });

  test('depth is what is open at one time: many shallow values, and brackets in strings, do not count', () => {
    expect(parseJson(`[${Array.from({ length: 100 }, () => '[]').join(',')}]`)).toBeArray();
    expect(parseJson(JSON.stringify({ a: '['.repeat(100), '{{': '\\"[[' }))).toEqual({
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
  ])('%s: a member that stands twice is refused, however it is spelt', (text, name) => {
    expect(problemOf(text)).toBe(`The member ${JSON.stringify(name)} stands twice in one object.`);
  });

  test('the same name in two objects, and as a value, is no repetition', () => {
    for (const text of [
      '[{"a":1},{"a":2}]',
      '{"a":{"a":{"a":1}}}',
      '{"a":"a","b":"a"}',
      '["a","a"]',
      '{"a":["b","b"]}',
    ]) {
      expect(parseJson(text)).toEqual(JSON.parse(text) as never);
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
    ['\ufeff{}'],
    ['// comment\n{}'],
    ['"\\'],
    ['{"a\\":1}'],
  ])('%j is malformed, and the message does not repeat it', (text) => {
    expect(problemOf(text)).toBe('The body is not valid JSON.');
  });

  test('nothing, and nothing but space, is told to be empty', () => {
    for (const text of ['', ' ', '\n\t ']) expect(problemOf(text)).toBe('The body is empty; a JSON object is needed.');
  });

  test('`__proto__` is data: it changes no prototype', () => {
    const value = parseJson('{"__proto__":{"isAdmin":true}}') as Record<string, unknown>;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(value['isAdmin']).toBeUndefined();
  });
});
