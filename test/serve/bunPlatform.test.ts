import { expect, test } from 'bun:test';

import { checkRandomness } from '../../src/bunPlatform.ts';

const bytes = (...values: number[]) => Uint8Array.from({ length: 32 }, (_, i) => values[i % values.length] ?? 0);

test('a random source that is stuck or repeats itself is refused before any secret is made from it', () => {
  expect(() => checkRandomness(() => bytes(0))).toThrow('repeats itself');
  expect(() => checkRandomness(() => bytes(1, 2, 3))).toThrow('repeats itself');
  expect(() => checkRandomness((length) => crypto.getRandomValues(new Uint8Array(length)))).not.toThrow();
});
