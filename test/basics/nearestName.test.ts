import { describe, expect, test } from 'bun:test';

import { nearestName } from '../../src/basics/nearestName.ts';

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

  test('a name is compared only with those of nearly its length, and a long one with none', () => {
    let compared = 0;
    class Counted extends String {
      override toLowerCase(): string {
        compared++;
        return super.toLowerCase();
      }
    }
    const counted = known.map((name) => new Counted(name) as unknown as string);
    for (const length of [13, 64, 4_000_000]) expect(nearestName('x'.repeat(length), counted)).toBeNull();
    expect(compared).toBe(0);
    // With refill, ownerId and meta; the others have four letters more.
    expect(nearestName('xxxxx', counted)).toBeNull();
    expect(compared).toBe(3);
  });
});
