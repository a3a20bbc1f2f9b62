import { deepStrictEqual } from 'node:assert';
import { describe, test } from 'node:test';

import { NO_CREDITS, NO_KEY, refusal, startExample } from './example.mjs';

describe('examples/nextjs', async () => {
  const { ask, newKey } = await startExample('nextjs');

  test('a key passes until its credits are used up', async () => {
    const key = await newKey({ remaining: 3 });
    deepStrictEqual((await ask('/search?text=hello', key)).body, { text: 'hello', results: [], creditsLeft: 1 });
    deepStrictEqual(refusal(await ask('/search', key)), NO_CREDITS);
  });

  test('a request without a key is 401', async () => {
    deepStrictEqual(refusal(await ask('/search')), NO_KEY);
  });
});
