import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { base58, base58Number } from '../../src/basics/base58.ts';
import { crc32, hasChecksum, isSecretShaped, makeSecret, PREFIX_PATTERN, shownStart } from '../../src/core/secret.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const random = fc.uint8Array({ minLength: 16, maxLength: 255 });
const prefix = fc.option(fc.stringMatching(new RegExp(PREFIX_PATTERN)));

describe('checksum', () => {
  test('is CRC32 as everyone computes it: the check value of "123456789" is cbf43926', () => {
    expect(crc32('123456789').toString(16)).toBe('cbf43926');
    expect(crc32('')).toBe(0);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => {
        expect(crc32(text)).toBe(Bun.hash.crc32(text));
      }),
      { seed, numRuns: 300 },
    );
  });

  test('stands in the last six characters and covers all that stands before them', () => {
    fc.assert(
      fc.property(prefix, random, (name, bytes) => {
        const secret = makeSecret(name, bytes);
        const body = `${name === null ? '' : `${name}_`}${base58(bytes)}`;
        expect(secret).toBe(body + base58Number(crc32(body), 6));
        expect(secret.length).toBe(body.length + 6);
        expect(hasChecksum(secret)).toBe(true);
      }),
      { seed, numRuns: 300 },
    );
  });

  test('tells every single wrong character and every swap of two neighbours', () => {
    const secret = makeSecret(
      'sk',
      Uint8Array.from({ length: 16 }, (_, i) => i * 13),
    );
    for (let i = 0; i < secret.length; i++) {
      const other = secret[i] === 'x' ? 'y' : 'x';
      expect(hasChecksum(secret.slice(0, i) + other + secret.slice(i + 1))).toBe(false);
      const [a, b] = [secret[i] ?? '', secret[i + 1] ?? ''];
      if (a !== b && b !== '') expect(hasChecksum(secret.slice(0, i) + b + a + secret.slice(i + 2))).toBe(false);
    }
    expect(hasChecksum(secret.slice(0, -1))).toBe(false);
    expect(hasChecksum('')).toBe(false);
    expect(hasChecksum('111111')).toBe(false);
  });
});

describe('shownStart', () => {
  test('is the prefix and four characters, which leaves at least 100 random bits unknown', () => {
    const bytes = new Uint8Array(16).fill(7);
    expect(shownStart('sk_live', makeSecret('sk_live', bytes))).toBe(`sk_live_${base58(bytes).slice(0, 4)}`);
    expect(shownStart(null, makeSecret(null, bytes))).toBe(base58(bytes).slice(0, 4));
  });
});

describe('isSecretShaped', () => {
  test('takes every secret that can be made', () => {
    fc.assert(
      fc.property(prefix, random, (name, bytes) => {
        expect(isSecretShaped(makeSecret(name, bytes))).toBe(true);
      }),
      { seed, numRuns: 300 },
    );
  });

  test('takes printable ASCII of 1 to 512 characters, spaces among them', () => {
    for (const good of ['a', ' ', '~', 'a b', 'x'.repeat(512)]) expect(isSecretShaped(good)).toBe(true);
  });

  test.each([
    ['nothing', ''],
    ['513 characters', 'x'.repeat(513)],
    ['a NUL', 'sk_\u0000abc'],
    ['a line break', 'sk_abc\n'],
    ['a tab', 'sk_\tabc'],
    ['DEL', 'sk_abc\u007f'],
    ['a letter that is not ASCII', 'sk_äbc'],
    ['a full-width letter', 'sk_\uff21'],
    ['a lone high surrogate', 'sk_\ud800'],
    ['a lone low surrogate', '\udc00sk'],
    ['an emoji', 'sk_🔑'],
    ['a zero-width space', 'sk_\u200babc'],
  ])('refuses %s', (_, secret) => {
    expect(isSecretShaped(secret)).toBe(false);
  });
});
