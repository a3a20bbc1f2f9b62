import { deepStrictEqual } from 'node:assert';
import { describe, test } from 'node:test';

import { NO_CREDITS, NO_KEY, NO_PERMISSION, refusal, startExample } from './example.mjs';

describe('examples/express', async () => {
  const { ask, newKey } = await startExample('express');

  test('each route takes its cost, and a key without enough credits is 429', async () => {
    const key = await newKey({ remaining: 6 });
    deepStrictEqual((await ask('/images', key, 'POST')).body, { image: 'one.png', creditsLeft: 1 });
    deepStrictEqual(refusal(await ask('/images', key, 'POST')), NO_CREDITS);
    deepStrictEqual((await ask('/search', key)).body, { results: [], creditsLeft: 0 });
    deepStrictEqual(refusal(await ask('/search', key)), NO_CREDITS);
  });

  test('a route with a permission refuses a key without it, and is free', async () => {
    const key = await newKey({ remaining: 0, permissions: ['images.delete'] });
    deepStrictEqual((await ask('/images/one.png', key, 'DELETE')).body, { deleted: 'one.png' });
    deepStrictEqual(refusal(await ask('/images/one.png', await newKey(), 'DELETE')), NO_PERMISSION);
  });

  test('a request without a key is 401', async () => {
    deepStrictEqual(refusal(await ask('/search')), NO_KEY);
  });
});
