import { describe, expect, test } from 'bun:test';

import { nearestName } from '../../src/core/nearest.ts';

const known = ['remaining', 'refill', 'ratelimit', 'ownerId', 'meta'];

describe('nearestName', () => {
  test.each([
    ['remainign', 'remaining'],
    ['Remaining', 'remaining'],
    ['rateLimit', 'ratelimit'],
    ['refil', 'refill'],
    ['ownerid', 'ownerId'],
    ['metaa', 'meta'],
    ['met', 'meta'],
  ])('%s was probably meant as %s', (written, meant) => {
    expect(nearestName(written, known)).toBe(meant);
  });

  test.each([['something else'], ['x'], [''], ['remaining'.repeat(8)], ['a'.repeat(100_000)]])(
    'nothing is guessed for %s',
    (written) => {
      expect(nearestName(written, known)).toBeNull();
    },
  );

  test('of several the nearest is named, of equally near ones the first', () => {
    expect(nearestName('abcd', ['abxy', 'abcx', 'abcy'])).toBe('abcx');
    expect(nearestName('abcd', [])).toBeNull();
  });
});
