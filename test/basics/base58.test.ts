import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { base58, base58Length, base58Number } from '../../src/basics/base58.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** The oracle: reads the text back as one number. */
function decode(text: string): bigint {
  let value = 0n;
  for (const character of text) value = value * 58n + BigInt(ALPHABET.indexOf(character));
  return value;
}

function toNumber(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = value * 256n + BigInt(byte);
  return value;
}

describe('base58', () => {
  test('uses 58 characters, none of which a person can take for another', () => {
    expect(new Set(ALPHABET).size).toBe(58);
    expect(Array.from({ length: 58 }, (_, i) => base58Number(i, 1)).join('')).toBe(ALPHABET);
    for (const confusing of '0OIl') expect(ALPHABET.includes(confusing)).toBe(false);
  });

  test('known values', () => {
    expect(base58(new Uint8Array(0))).toBe('');
    expect(base58(Uint8Array.of(0))).toBe('11');
    expect(base58(Uint8Array.of(255))).toBe('5Q');
    expect(base58(new TextEncoder().encode('Hello World!'))).toBe('2NEpo7TZRRrLZSi2U');
  });

  test('equally long inputs give equally long texts, of the announced length, for every length of a key', () => {
    for (let length = 0; length <= 255; length++) {
      const lengths = [0, 1, 255].map((byte) => base58(new Uint8Array(length).fill(byte)).length);
      expect(lengths).toEqual([base58Length(length), base58Length(length), base58Length(length)]);
      // Long enough for the largest value, and not a character longer.
      expect(58n ** BigInt(base58Length(length)) >= 256n ** BigInt(length)).toBe(true);
      if (length > 0) expect(58n ** BigInt(base58Length(length) - 1) < 256n ** BigInt(length)).toBe(true);
    }
  });

  test('no bit is lost: the text read back as a number is the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 255 }), (bytes) => {
        expect(decode(base58(bytes))).toBe(toNumber(bytes));
      }),
      { seed, numRuns: 500 },
    );
  });

  test('two bytes: all 65,536 inputs give different texts, in the order of their numbers', () => {
    const texts = Array.from({ length: 65_536 }, (_, n) => base58(Uint8Array.of(n >> 8, n & 255)));
    expect(new Set(texts).size).toBe(65_536);
    expect(texts.every((text, i) => i === 0 || (texts[i - 1] ?? '') < text)).toBe(true);
  });
});

describe('base58Number', () => {
  test('keeps the order of numbers in the order of texts, at the least width and beyond it', () => {
    const number = fc.nat({ max: 58 ** 8 - 1 });
    fc.assert(
      fc.property(number, number, (a, b) => {
        expect(base58Number(a, 8) < base58Number(b, 8)).toBe(a < b);
        expect(decode(base58Number(a, 8))).toBe(BigInt(a));
      }),
      { seed, numRuns: 500 },
    );
    expect(base58Number(0, 3)).toBe('111');
    expect(base58Number(57, 1)).toBe('z');
    expect(base58Number(58, 1)).toBe('21');
    expect(decode(base58Number(Number.MAX_SAFE_INTEGER, 1))).toBe(BigInt(Number.MAX_SAFE_INTEGER));
  });
});
