import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { isSecretShaped } from '../../../src/core/secret.ts';
import { parseVerifyBody, soleSecret, type VerifyBody } from '../../../src/http/verify/verifyRequest.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

function parsed(text: string): VerifyBody | null {
  try {
    return parseVerifyBody(text);
  } catch {
    return null;
  }
}

/** Bodies near the short form: secrets of all kinds, other members, white space, broken ends. */
const bodies = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((key) => JSON.stringify({ key })),
  fc.string({ unit: 'grapheme-ascii', maxLength: 600 }).map((key) => `{"key":"${key}"}`),
  fc.string({ unit: 'binary', maxLength: 40 }).map((key) => `{"key":"${key}"}`),
  fc.constantFrom(
    '{"key":"a"} ',
    ' {"key":"a"}',
    '{"key":"a","key":"b"}',
    '{"key":"a\\n"}',
    '{"key":""}',
    '{"key":"a","b":"c"}',
  ),
  fc.integer({ min: 508, max: 516 }).map((length) => `{"key":"${'x'.repeat(length)}"}`),
);

test('the short way to read a body never says anything that the full way does not say', () => {
  fc.assert(
    fc.property(bodies, (text) => {
      const short = soleSecret(text);
      if (short === null) return;
      expect(parsed(text)).toEqual({ key: short });
      expect(isSecretShaped(short)).toBe(true);
    }),
    { seed, numRuns: 5_000 },
  );
});

test('the short way reads every body that is just a well-shaped key', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9_.-]{1,512}$/), (key) => {
      expect(soleSecret(JSON.stringify({ key }))).toBe(key);
    }),
    { seed, numRuns: 1_000 },
  );
});
